package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

const (
	// maxBody is the cap on a JSON body: pasted text of any sensible length fits
	// (E11).
	maxBody = 25 << 20
	// bodyTimeout is how long a client may take to send a JSON body.
	bodyTimeout = time.Minute
)

// readObject reads the JSON object in the body; an empty body is an empty
// object.
func readObject(c echo.Context) (object, error) {
	data, err := readBody(c)
	if err != nil {
		return object{}, err
	}
	o := object{loc: []any{"body"}, errs: &[]fieldError{}}
	if len(bytes.TrimSpace(data)) == 0 {
		return o, nil
	}
	if !json.Valid(data) {
		return o, invalidField("json_invalid", "The body is not valid JSON: "+jsonFault(data), "body")
	}
	if err := json.Unmarshal(data, &o.raw); err != nil {
		return o, invalidField("dict_type", "The body should be a JSON object", "body")
	}
	return o, nil
}

func jsonFault(data []byte) string {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return err.Error()
	}
	return "unknown fault"
}

func readBody(c echo.Context) ([]byte, error) {
	r := c.Request()
	// A server that cannot set deadlines (a test's recorder) is fine.
	deadline := http.NewResponseController(c.Response())
	_ = deadline.SetReadDeadline(time.Now().Add(bodyTimeout))
	data, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, maxBody))
	_ = deadline.SetReadDeadline(time.Time{})
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, fail(http.StatusRequestEntityTooLarge,
			"The request body is larger than the limit of %d MiB; upload large texts as files", maxBody>>20)
	case err != nil:
		return nil, &apiError{status: http.StatusBadRequest, detail: "The request body could not be read to its end", cause: err}
	}
	return data, nil
}
