package documents

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/xuri/excelize/v2"

	"deerflow/internal/thread"
)

func readXlsx(ctx context.Context, s source) (Document, error) {
	f, err := excelize.OpenReader(io.NewSectionReader(s.r, 0, s.size), excelize.Options{
		UnzipSizeLimit: maxUnpacked, UnzipXMLSizeLimit: maxPart,
		// Where a date goes by the reader's country it is written as all understand it.
		ShortDatePattern: "yyyy-mm-dd", LongDatePattern: "yyyy-mm-dd", LongTimePattern: "hh:mm:ss",
	})
	if errors.Is(err, excelize.ErrWorkbookPassword) {
		return Document{}, errProtected
	}
	if err != nil {
		return Document{}, err
	}
	defer func() { _ = f.Close() }() // it only removes its temporary files
	sheets := f.GetSheetList()
	doc := Document{Pages: len(sheets)}
	var md markdown
	for i, name := range sheets {
		if i == maxSheets || md.full() != nil {
			doc.warn(fmt.Sprintf("Only the first %d of %d sheets were read.", i, len(sheets)))
			break
		}
		if err := writeSheet(ctx, f, name, &md, &doc); err != nil {
			return Document{}, fmt.Errorf("sheet %q: %w", name, err)
		}
	}
	doc.Markdown = md.String()
	return doc, nil
}

// writeSheet writes a sheet as a table, with the values as they are shown.
func writeSheet(ctx context.Context, f *excelize.File, name string, md *markdown, doc *Document) error {
	title := name
	if visible, err := f.GetSheetVisible(name); err == nil && !visible {
		title += " (hidden)"
	}
	md.heading(2, title)
	rows, err := f.Rows(name)
	var other excelize.ErrSheetNotExist
	if errors.As(err, &other) {
		md.paragraph("(no cells)") // a sheet of charts
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var table [][]string
	size := md.b.Len()
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(table) == maxRows || size > maxOutput {
			doc.warn(fmt.Sprintf("Only the first %d rows of sheet %q were read.", len(table), name))
			break
		}
		cells, err := rows.Columns()
		if err != nil {
			return err
		}
		if len(cells) > maxColumns {
			doc.warn(fmt.Sprintf("Only the first %d columns of sheet %q were read.", maxColumns, name))
			cells = cells[:maxColumns]
		}
		for i := range cells {
			cells[i] = thread.Shorten(cells[i], maxCell)
			size += len(cells[i]) + len("|  ")
		}
		table = append(table, cells)
	}
	if err := rows.Error(); err != nil {
		return err
	}
	md.table(table)
	return nil
}
