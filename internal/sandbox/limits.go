package sandbox

// Limits bound what one command may use; 0 is no limit.
type Limits struct {
	CPUSeconds int // processor time of one process
	MemoryMB   int // of all processes of the command together
	Processes  int // at once, threads included
	FileMB     int // size of one file
}
