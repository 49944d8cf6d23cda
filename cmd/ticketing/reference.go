package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// reference is an argument that is looked up after the database was opened.
type reference interface {
	resolve(ctx context.Context, op ticketing.Operator) error
}

// references returns the arguments and flags of a command that must be looked up.
func references(command *kong.Node) []reference {
	var found []reference
	add := func(value *kong.Value) {
		if ref, ok := reflect.TypeAssert[reference](value.Target.Addr()); ok {
			found = append(found, ref)
		}
	}
	for _, flag := range command.Flags {
		add(flag.Value)
	}
	for _, argument := range command.Positional {
		add(argument)
	}
	return found
}

// companyRef is a company by its id, the beginning of its id, or its name. The id is known once it was looked up.
type companyRef struct {
	uuid.UUID

	text string
}

func (v *companyRef) UnmarshalText(text []byte) error {
	if v.text = strings.TrimSpace(string(text)); v.text == "" {
		return badValue("must be the id of a company, the beginning of its id, or its name")
	}
	v.UUID, _ = ticketing.ParseID(v.text) // Otherwise resolve looks it up.
	return nil
}

// given reports whether there is a company.
func (v *companyRef) given() bool { return v.text != "" }

func (v *companyRef) resolve(ctx context.Context, op ticketing.Operator) error {
	if !v.given() || v.UUID != uuid.Nil {
		return nil
	}
	company, err := op.FindCompany(ctx, v.text)
	if errors.Is(err, ticketing.CodeNotFound) {
		// The text may be anything that was typed in the wrong place, such as the number of a bank account.
		return &failure{code: string(ticketing.CodeNotFound), text: `no company has this id or name: ` +
			`"ticketing company list" lists them`}
	}
	v.UUID = company.ID
	return err
}

// shortID is the id of a record in a short list, the beginning of its id, or a name in the list.
type shortID struct {
	uuid.UUID

	text string
}

func (v *shortID) UnmarshalText(text []byte) error {
	if v.text = strings.TrimSpace(string(text)); v.text == "" {
		return badValue("must be an id")
	}
	v.UUID, _ = ticketing.ParseID(v.text)
	return nil
}

// shortestBeginning is the length of the shortest beginning of an id that can stand for it.
const shortestBeginning = 4

// findRecord returns the record that a text names, by its id, the beginning of its id, or its name. The word for such a
// record is what.
func findRecord[T any](ref shortID, what string, records []T, identify func(T) (uuid.UUID, string)) (T, error) {
	var found []T
	var ids []string
	beginning := strings.ToLower(ref.text)
	for _, record := range records {
		id, name := identify(record)
		begins := len(beginning) >= shortestBeginning && strings.HasPrefix(id.String(), beginning)
		if id == ref.UUID || begins || name != "" && strings.EqualFold(name, ref.text) {
			found, ids = append(found, record), append(ids, id.String())
		}
	}
	switch len(found) {
	case 0:
		return *new(T), &failure{code: string(ticketing.CodeNotFound), text: "The " + what + " was not found."}
	case 1:
		return found[0], nil
	default:
		return *new(T), &failure{code: string(ticketing.CodeConflict), text: fmt.Sprintf(
			"%s begins the ids of several: %s; give the whole id of one", quoted(ref.text), strings.Join(ids, ", "))}
	}
}
