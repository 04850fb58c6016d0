package cases

import "testing"

func TestTemporalSignalsByHand(t *testing.T) { byHand(t, "badsignal") }
