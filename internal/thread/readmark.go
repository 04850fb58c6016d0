package thread

import "encoding/json"

// KeyReadMark holds, of a tool message that shows a file, the [FileMark] of the
// state that was shown.
const KeyReadMark = "deerflow_read_mark"

// readMark is the mark of a message, nil when it has none.
func (m *Message) readMark() *FileMark {
	value, ok := m.AdditionalKwargs[KeyReadMark]
	if !ok || m.Role != RoleTool || m.Status == ToolError {
		return nil
	}
	if mark, ok := value.(FileMark); ok {
		return &mark
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var mark FileMark
	if json.Unmarshal(data, &mark) != nil || mark.Path == "" || mark.Hash == "" {
		return nil
	}
	return &mark
}
