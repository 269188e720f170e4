package openenv

import _ "embed"

//go:embed schema.json
var schema []byte
