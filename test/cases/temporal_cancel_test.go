package cases

import "testing"

func TestTemporalCancelByHand(t *testing.T) { byHand(t, "cancel") }
