package httpapi_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
)

// TestOrdersAndQuotesAsPackageJSON checks that a response which is written without reflection has the bytes that
// package json gives it. The values are filled by reflection, so a new member is compared, too.
func TestOrdersAndQuotesAsPackageJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, data := range []any{
			filled[ticketing.Order](t), filled[[]ticketing.Order](t), filled[ticketing.Quote](t),
			[]ticketing.Order{},
			ticketing.Order{},
			ticketing.Quote{},
		} {
			is := is.New(t)
			body, known, err := httpapi.EncodeData(data)
			is.NoErr(err)
			is.True(known) // An order or a quote is written without reflection.
			want, err := httpapi.EncodeByReflection(data)
			is.NoErr(err)
			is.Equal(string(body), string(want))
		}
	})
}

// filled returns a value of any members.
func filled[T any](t *rapid.T) T {
	var v T
	setMembers(t, reflect.ValueOf(&v).Elem())
	return v
}

// setMembers sets a value and all its members.
func setMembers(t *rapid.T, v reflect.Value) {
	switch of := v.Addr().Interface().(type) {
	case *uuid.UUID:
		copy(of[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		return
	case *ticketing.Time:
		of.Time = time.UnixMilli(rapid.Int64Range(-1<<45, 1<<45).Draw(t, "time")).UTC()
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.OneOf(rapid.StringMatching(`[ -~]{0,9}`), rapid.String(), rapid.SampledFrom([]string{
			"<b>&", `a "b" \`, "\x00\n\x1f\x7f", "\u2028\u2029", "\xff\xfe", "Ọ̀ṣun",
		})).Draw(t, "text"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "number"))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "present") {
			v.Set(reflect.New(v.Type().Elem()))
			setMembers(t, v.Elem())
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 3).Draw(t, "length"), 3))
		for i := range v.Len() {
			setMembers(t, v.Index(i))
		}
	case reflect.Struct:
		for _, member := range v.Fields() {
			setMembers(t, member)
		}
	default:
		t.Fatalf("no %s is filled", v.Kind())
	}
}
