package export

import (
	"encoding/binary"
	"strings"
)

// table is an entry of the directory of a font.
type table struct {
	tag            string
	checksum       uint32
	offset, length uint32
}

// trueType gives a font file that holds one font with TrueType outlines: the only
// ones that are embedded. Of a collection it takes the first font out.
func trueType(data []byte) ([]byte, error) {
	if len(data) < 16 {
		return nil, errFont
	}
	start := uint32(0)
	inCollection := string(data[:4]) == "ttcf"
	if inCollection {
		start = binary.BigEndian.Uint32(data[12:])
	}
	tables, version, ok := directory(data, start)
	if !ok {
		return nil, errFont
	}
	outlines := 0
	for _, t := range tables {
		if t.tag == "glyf" || t.tag == "loca" {
			outlines++
		}
	}
	if outlines != 2 || version != 0x00010000 && version != 0x74727565 { // "true"
		return nil, errFont
	}
	if !inCollection {
		return data, nil
	}
	return single(data, tables), nil
}

// directory reads the tables of the font at an offset.
func directory(data []byte, start uint32) (tables []table, version uint32, ok bool) {
	size := uint64(len(data))
	if uint64(start)+12 > size {
		return nil, 0, false
	}
	version = binary.BigEndian.Uint32(data[start:])
	n := uint64(binary.BigEndian.Uint16(data[start+4:]))
	if uint64(start)+12+16*n > size {
		return nil, 0, false
	}
	for i := range n {
		entry := data[uint64(start)+12+16*i:]
		t := table{
			tag: string(entry[:4]), checksum: binary.BigEndian.Uint32(entry[4:]),
			offset: binary.BigEndian.Uint32(entry[8:]), length: binary.BigEndian.Uint32(entry[12:]),
		}
		if uint64(t.offset)+uint64(t.length) > size {
			return nil, 0, false
		}
		tables = append(tables, t)
	}
	return tables, version, true
}

// single writes a file with the given tables alone.
func single(data []byte, tables []table) []byte {
	head := make([]byte, 12+16*len(tables))
	binary.BigEndian.PutUint32(head, 0x00010000)
	binary.BigEndian.PutUint16(head[4:], uint16(len(tables))) //nolint:gosec // it came from 16 bits
	out := head
	for i, t := range tables {
		entry := out[12+16*i:]
		copy(entry, t.tag)
		binary.BigEndian.PutUint32(entry[4:], t.checksum)
		binary.BigEndian.PutUint32(entry[8:], uint32(len(out))) //nolint:gosec // fonts are bounded
		binary.BigEndian.PutUint32(entry[12:], t.length)
		out = append(out, data[t.offset:t.offset+t.length]...)
		out = append(out, strings.Repeat("\x00", (4-len(out)%4)%4)...)
	}
	return out
}
