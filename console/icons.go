package console

import (
	_ "embed"
	"encoding/xml"
	"html/template"
)

//go:embed icons.svg
var iconFile []byte

// icons are the icons by name, as elements of a page. A template with a choice of them took a third of the time of a
// page: it compared the name of each icon with all others.
var icons = parseIcons(iconFile)

// parseIcons returns the symbols of an SVG file. Each is a square of 24.
func parseIcons(file []byte) map[string]template.HTML {
	var sheet struct {
		Symbols []struct {
			Name    string `xml:"id,attr"`
			Drawing string `xml:",innerxml"`
		} `xml:"symbol"`
	}
	if err := xml.Unmarshal(file, &sheet); err != nil {
		panic(err) // The file is a part of the program.
	}
	all := map[string]template.HTML{}
	for _, symbol := range sheet.Symbols {
		all[symbol.Name] = template.HTML(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">` +
			symbol.Drawing + `</svg>`) //nolint:gosec // It is of the file.
	}
	return all
}

// icon returns an icon by its name. An unknown one is a circle.
func icon(name string) template.HTML {
	if found, ok := icons[name]; ok {
		return found
	}
	return icons["none"]
}
