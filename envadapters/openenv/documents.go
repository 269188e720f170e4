package openenv

import _ "embed"

// The documents that describe the profile.
var (
	//go:embed schema.json
	schema []byte
	//go:embed openapi.json
	openAPI []byte
)
