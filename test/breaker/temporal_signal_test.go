package breaker

import "testing"

func TestTemporalSignalsByHand(t *testing.T) { byHand(t, "badsignal") }
