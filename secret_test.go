package ticketing_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

func TestForeignSecretKeysMakeAndOpenNothing(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		is.NoErr(e.Ready(t.Context()))
		key := e.issue(t, company)

		foreign := e.service(t, secretKey('x'))
		staff := foreign.As(ticketing.Staff("test"))
		_, issue := staff.IssueAPIKey(t.Context(), company, "gate", ticketing.AllGrants())
		_, rotate := staff.RotateAPIKey(t.Context(), key.ID)
		_, open := foreign.Authenticate(t.Context(), key.Key)
		for _, err := range []error{foreign.Ready(t.Context()), issue, rotate, open} {
			is.True(err != nil)
			is.True(!errors.As(err, new(*ticketing.Error))) // a fault of the configuration, on which a client cannot act
			is.True(strings.Contains(err.Error(), "the secret keys do not belong to this database"))
		}
		keys, err := e.staff.ListAPIKeys(t.Context(), company)
		is.NoErr(err)
		is.Equal(len(keys), 1)
	})
}

func TestASecretKeyIsReplacedByPuttingTheNewOneFirst(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		key := e.issue(t, e.verified(t))
		unused := e.issue(t, e.verified(t))

		// With both keys, digests of the old key still match. Using an API key makes its digest under the new key,
		// whenever it was last used.
		_, err := e.Authenticate(t.Context(), key.Key)
		is.NoErr(err)
		both := e.service(t, secretKey('b'), secretKey('a'))
		is.NoErr(both.Ready(t.Context()))
		_, err = both.Authenticate(t.Context(), key.Key)
		is.NoErr(err)

		// The new key alone is refused as long as an active API key needs the old one, and so is the old one.
		refused := "ticketing: the secret keys do not belong to this database: " +
			"API keys, bank accounts or webhook secrets in use were made under another one"
		for _, keys := range [][][]byte{{secretKey('b')}, {secretKey('a')}, {secretKey('c'), secretKey('a')}} {
			err := e.service(t, keys...).Ready(t.Context())
			is.True(err != nil)
			is.Equal(err.Error(), refused)
			_, err = e.service(t, keys...).As(ticketing.Staff("test")).IssueAPIKey(t.Context(), e.verified(t), "gate",
				[]ticketing.Grant{ticketing.GrantTicketValidate})
			is.Equal(err.Error(), refused) // No API key is issued that other processes would refuse.
		}
		_, err = both.As(ticketing.Staff("test")).RevokeAPIKey(t.Context(), unused.ID)
		is.NoErr(err)
		alone := e.service(t, secretKey('b'))
		is.NoErr(alone.Ready(t.Context()))
		_, err = alone.Authenticate(t.Context(), key.Key)
		is.NoErr(err)
	})
}

func TestReadingKnowsNoCompany(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		is.NoErr(e.Ready(t.Context())) // an empty database is not a wrong one
		_, err := e.staff.GetCompany(t.Context(), uuid.Nil)
		is.Equal(code(err), ticketing.CodeNotFound)
	})
}
