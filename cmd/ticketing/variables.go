package main

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// variablePrefix is the beginning of the names of the program's environment variables.
const variablePrefix = "TICKETING_"

// variable returns the name of a flag's environment variable.
func variable(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// hasNoVariable reports whether a flag is for the command line alone.
func hasNoVariable(flag string) bool { return flag == "help" || flag == "version" }

// unknownVariables returns a warning for each environment variable that looks like the program's but is not. Most are
// misspelled, so their settings keep the defaults.
func (p *program) unknownVariables(model *kong.Node) (warnings []string) {
	// Clients have an address and a key, and a deployment may name its version.
	known := []string{oidcSecret, "TICKETING_API_KEY", "TICKETING_BASE_URL", "TICKETING_VERSION"}
	_ = kong.Visit(model, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok && !hasNoVariable(flag.Name) {
			known = append(known, variable(flag.Name))
		}
		return next(nil)
	})
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, variablePrefix) || strings.HasPrefix(name, variablePrefix+"TEST_") ||
			p.getenv(name) == "" || slices.Contains(known, name) || isOfKubernetes(name, p.getenv(name)) {
			continue
		}
		text := "no flag has the environment variable " + name
		if near := nearest(name, known); near != "" {
			text += "; did you mean " + near + "?"
		}
		warnings = append(warnings, text)
	}
	return warnings
}

// isOfKubernetes reports whether a variable is one that Kubernetes sets in each pod beside a Service named ticketing.
func isOfKubernetes(name, value string) bool {
	rest := strings.TrimPrefix(name, variablePrefix)
	return rest == "SERVICE_HOST" || rest == "SERVICE_PORT" || strings.HasPrefix(rest, "SERVICE_PORT_") ||
		rest == "PORT" && strings.HasPrefix(value, "tcp://") || strings.HasPrefix(rest, "PORT_")
}

// warnOfVariables prints the warnings of [program.unknownVariables] on standard error, before the command runs. With
// --json, the standard error of a server is a log. That of a command that works for minutes, or until it is
// interrupted, holds several values, and the warnings are the first. That of any other command holds one value at
// most, so the warnings wait for it. An empty command is one that was refused.
func (p *program) warnOfVariables(model *kong.Node, command string) {
	warnings := p.unknownVariables(model)
	is := func(name string) bool { return command == name || strings.HasPrefix(command, name+" ") }
	switch {
	case len(warnings) == 0:
	case !p.JSON:
		for _, text := range warnings {
			fmt.Fprintln(p.stderr, "ticketing: warning: "+escape(text))
		}
	case is("demo"), is("serve"):
		for _, text := range warnings {
			//nolint:sloglint // The text is for a person.
			slog.New(slog.NewJSONHandler(p.stderr, nil)).Warn(text)
		}
	case is("bench"), is("proxy check"), is("webhook listen"):
		_ = encode(p.stderr, map[string][]string{"warnings": warnings})
	default:
		p.warnings = warnings
	}
}

// nearest returns the name that is most similar to a misspelled one, or "" if none is similar.
func nearest(misspelled string, names []string) string {
	const farthest = 2
	best, least := "", farthest+1
	for _, name := range names {
		if distance := editDistance(misspelled, name); distance < least {
			best, least = name, distance
		}
	}
	return best
}

// editDistance returns how many letters must be added, removed or replaced to turn one text into the other.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(row[j]+1, row[j+1]+1, replaced)
		}
	}
	return row[len(b)]
}
