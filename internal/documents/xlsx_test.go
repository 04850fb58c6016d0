package documents

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"
)

// workbook writes a workbook of what fill puts into it.
func workbook(t *testing.T, o excelize.Options, fill func(*excelize.File)) []byte {
	t.Helper()
	f := excelize.NewFile()
	fill(f)
	var b bytes.Buffer
	require.NoError(t, f.Write(&b, o))
	require.NoError(t, f.Close())
	return b.Bytes()
}

func set(f *excelize.File, sheet, cell string, value any) {
	if err := f.SetCellValue(sheet, cell, value); err != nil {
		panic(err)
	}
}

func TestXlsx(t *testing.T) {
	t.Parallel()
	data := workbook(t, excelize.Options{}, func(f *excelize.File) {
		set(f, "Sheet1", "B2", "Region")
		set(f, "Sheet1", "D2", "Sales | net\nEUR")
		set(f, "Sheet1", "B3", "北京")
		set(f, "Sheet1", "D3", 1234.5)
		set(f, "Sheet1", "B5", true)
		set(f, "Sheet1", "D5", time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))
		_, _ = f.NewSheet("Empty")
		_, _ = f.NewSheet("Secret")
		set(f, "Secret", "A1", "hidden value")
		_ = f.SetSheetVisible("Secret", false)
	})
	doc, err := convert(t, "a.xlsx", data)
	require.NoError(t, err)
	require.Equal(t, 3, doc.Pages)
	require.Equal(t, `## Sheet1

| Region | Sales \| net<br>EUR |
| --- | --- |
| 北京 | 1234.5 |
|  |  |
| TRUE | 2026-11-30 |

## Empty

## Secret (hidden)

| hidden value |
| --- |
`, doc.Markdown)
}

func TestXlsxBounds(t *testing.T) {
	t.Parallel()
	protected := workbook(t, excelize.Options{Password: "x"}, func(*excelize.File) {})
	require.Equal(t, "it is protected by a password", reason(t, "a.xlsx", protected))
	wide := workbook(t, excelize.Options{}, func(f *excelize.File) {
		for i := range maxColumns + 5 {
			name, err := excelize.ColumnNumberToName(i + 1)
			require.NoError(t, err)
			set(f, "Sheet1", name+"1", fmt.Sprintf("c%d", i))
		}
		set(f, "Sheet1", "A2", strings.Repeat("x", 30_000))
	})
	doc, err := convert(t, "a.xlsx", wide)
	require.NoError(t, err)
	require.Equal(t, `Only the first 200 columns of sheet "Sheet1" were read.`, doc.Warning)
	require.Contains(t, doc.Markdown, "| c199 |\n")
	require.Less(t, len(doc.Markdown), 10_000)
	long := workbook(t, excelize.Options{}, func(f *excelize.File) {
		w, err := f.NewStreamWriter("Sheet1")
		require.NoError(t, err)
		for i := range maxRows + 2 {
			require.NoError(t, w.SetRow(fmt.Sprintf("A%d", i+1), []any{i}))
		}
		require.NoError(t, w.Flush())
	})
	doc, err = convert(t, "a.xlsx", long)
	require.NoError(t, err)
	require.Contains(t, doc.Warning, "first 50000 rows")
}
