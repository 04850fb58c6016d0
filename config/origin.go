package config

// origins tell where the values of a config come from, by the path of a key.
type origins struct {
	lines map[string]int    // of the keys that the file has
	raw   map[string]string // what the file says where a variable was filled in
}
