package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// billOfMaterials lists the parts of a program. It has no serial number, and the commit's time, so
// that the same program has the same bill.
func billOfMaterials(from source, t target, goVersion string, program []byte, parts []part) *cdx.BOM {
	sum := sha256.Sum256(program)
	whole := library(part{path: "github.com/mosey-web/mosey", version: from.version})
	whole.Type = cdx.ComponentTypeApplication
	whole.Name = "mosey"
	if t.program != whole.Name {
		whole.Name += "-" + t.program
	}
	whole.BOMRef += "#cmd/" + t.program
	whole.PackageURL = whole.BOMRef
	whole.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	whole.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	whole.Properties = &[]cdx.Property{
		{Name: "build:commit", Value: from.commit},
		{Name: "build:go", Value: goVersion},
		{Name: "build:goos", Value: t.goos},
		{Name: "build:goarch", Value: t.goarch},
	}

	components := make([]cdx.Component, 0, len(parts))
	refs := make([]string, 0, len(parts))
	for _, m := range parts {
		c := library(m)
		components = append(components, c)
		refs = append(refs, c.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: from.time.Format(time.RFC3339), Component: &whole}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: whole.BOMRef, Dependencies: &refs}}
	return bom
}

func writeBill(w io.Writer, bom *cdx.BOM) error {
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cdx.SpecVersion1_6)
}

// library returns a module as a component.
func library(m part) cdx.Component {
	url := "pkg:golang/" + m.path + "@" + strings.ReplaceAll(m.version, "+", "%2B")
	c := cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url, Name: m.path, Version: m.version, PackageURL: url}
	if ids := m.ids(); slices.Contains(ids, unstated) {
		c.Licenses = &cdx.Licenses{{License: &cdx.License{Name: unstated}}}
	} else if len(ids) > 0 {
		c.Licenses = &cdx.Licenses{{Expression: strings.Join(ids, " AND ")}}
	}
	return c
}
