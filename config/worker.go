package config

// Worker shapes a process that does the work of threads.
type Worker struct {
	// StickyCache is how many workflows stay in memory between two of their
	// tasks, for the whole process (200). 0 keeps none: each task then replays
	// the history from its start, which is slow and shows whether it can.
	StickyCache int `yaml:"sticky_cache" conf:"min=0,max=100000"`
}
