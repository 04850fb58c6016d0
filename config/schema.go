package config

import _ "embed"

//go:embed config.schema.json
var schema []byte

// Schema returns the JSON Schema of config.yaml, for editors. It is made of the
// types of this package, their checks and their comments.
func Schema() []byte { return schema }
