package thread

// The virtual directories of a thread, as tools and clients name them.
const (
	UserData  = "/mnt/user-data"
	Workspace = UserData + "/workspace"
	Uploads   = UserData + "/uploads"
	Outputs   = UserData + "/outputs"
)

// Directories are the virtual directories as a thread's state has them.
func Directories() DirectoryRef {
	return DirectoryRef{Workspace: Workspace, Uploads: Uploads, Outputs: Outputs}
}
