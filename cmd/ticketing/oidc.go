package main

import (
	"cmp"
	"strings"

	"github.com/floatgate/ticketing/console"
)

// issuerFlags name the issuer of OpenID Connect at which people sign in to the console.
type issuerFlags struct {
	OIDCIssuer   string `help:"Issuer of OpenID Connect whose verified addresses sign in to the console, such as https://accounts.example.com. The redirect address to register is /sign-in/oidc at the web origin." name:"oidc-issuer" placeholder:"URL"`
	OIDCClientID string `help:"Id of the console at the issuer. Its secret comes from TICKETING_OIDC_CLIENT_SECRET or a file, since others can see a command line." name:"oidc-client-id" placeholder:"ID"`

	OIDCClientSecretFile secretFile `help:"File that holds the secret of the console at the issuer." name:"oidc-client-secret-file" placeholder:"FILE"`
}

// oidcSecret is the variable with the secret of the console at its issuer. There is no flag for it, since everybody on
// the machine can see a command line.
const oidcSecret = "TICKETING_OIDC_CLIENT_SECRET"

// oidc returns the issuer that the flags name, and nil if they name none. It refuses flags that have no effect without
// another.
func (f *issuerFlags) oidc(secret string) (*console.OIDC, error) {
	file := f.OIDCClientSecretFile.text
	if file != "" && secret != "" {
		return nil, &usageError{text: "--oidc-client-secret-file and " + oidcSecret + " exclude each other"}
	}
	for _, flag := range []struct {
		name, needs    string
		given, fulfils bool
	}{
		{"--oidc-issuer", "--oidc-client-id", f.OIDCIssuer != "", f.OIDCClientID != ""},
		{"--oidc-client-id", "--oidc-issuer", f.OIDCClientID != "", f.OIDCIssuer != ""},
		{oidcSecret, "--oidc-issuer", secret != "", f.OIDCIssuer != ""},
		{"--oidc-client-secret-file", "--oidc-issuer", file != "", f.OIDCIssuer != ""},
	} {
		if flag.given && !flag.fulfils {
			return nil, &usageError{text: flag.name + " needs " + flag.needs + ", which is missing"}
		}
	}
	if f.OIDCIssuer == "" {
		return nil, nil //nolint:nilnil // No issuer is one of the two choices.
	}
	return &console.OIDC{
		Issuer: f.OIDCIssuer, ClientID: f.OIDCClientID, ClientSecret: cmp.Or(secret, file),
	}, nil
}

// badConsole returns the error for a flag that package console refuses.
func badConsole(err error) error {
	text := strings.TrimPrefix(err.Error(), "console: ")
	if rest, ok := strings.CutPrefix(text, "OIDC.Issuer "); ok {
		return badValue("--oidc-issuer: %s", rest)
	}
	return badValue("--web-origin: %s", text)
}
