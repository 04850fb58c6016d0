package step

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Conversion asks for the text of an uploaded document. It is the input of the
// workflow and of its activity.
type Conversion struct {
	Version int    `json:"version"`
	User    string `json:"user"`
	Thread  string `json:"thread"`
	Name    string `json:"name"`
	Size    int64  `json:"size"` // bytes; a file of another size is another document
	// Want is the name that the text is to have; it gets a number when that is
	// taken by then. Empty: the name of the document, with another extension.
	Want string `json:"want,omitempty"`
}

// WorkflowID is the same for the same document.
func (c Conversion) WorkflowID() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s", c.Size, c.Name))
	return "conversion/" + c.Thread + "/" + hex.EncodeToString(sum[:8])
}

// Converted is what came of a conversion: a text, or the reason why there is
// none.
type Converted struct {
	Text    string `json:"text,omitempty"` // name of the file
	Pages   int    `json:"pages,omitempty"`
	Warning string `json:"warning,omitempty"`
	Reason  string `json:"reason,omitempty"`
}
