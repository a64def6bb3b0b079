// Command parquet prints the content of a Parquet file as Apache Arrow reads it: the schema, and
// then each row as a line of JSON. Tests compare Mosey's output with it. It is a separate module so
// that Arrow does not choose the versions in Mosey.
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	for _, name := range os.Args[1:] {
		if err := printFile(out, name); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// printFile prints one file.
func printFile(out *bufio.Writer, name string) error {
	f, err := file.OpenParquetFile(name, false)
	if err != nil {
		return err
	}
	defer f.Close()
	reader, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: 1024}, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	schema, err := reader.Schema()
	if err != nil {
		return err
	}
	for _, field := range schema.Fields() {
		fmt.Fprintf(out, "%s: %s null=%t\n", field.Name, field.Type, field.Nullable)
	}
	fmt.Fprintf(out, "rows %d in %d groups\n", f.NumRows(), f.NumRowGroups())
	records, err := reader.GetRecordReader(context.Background(), nil, nil)
	if err != nil {
		return err
	}
	defer records.Release()
	for records.Next() {
		batch := records.RecordBatch()
		for i := range int(batch.NumRows()) {
			row, err := batch.NewSlice(int64(i), int64(i)+1).MarshalJSON()
			if err != nil {
				return err
			}
			out.Write(bytes.TrimSpace(row[1 : len(row)-1])) // of [{…}]
			out.WriteByte('\n')
		}
	}
	return records.Err()
}
