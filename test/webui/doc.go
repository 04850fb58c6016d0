// Package webui tests what a person reads in the Temporal Web UI: the real
// product, its real UI and a real browser, headless. The test also takes the
// picture that the README shows:
//
//	DEERFLOW_UPDATE_SCREENSHOTS=1 go test ./test/webui -count=1
package webui
