package mail

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/wneessen/go-mail/smtp"
)

// maxIterations is how many iterations of a hash a server may ask for. RFC 7677 requires at least 4,096, and servers
// use 10,000 to 600,000. A million takes less than a second.
const maxIterations = 1_000_000

var (
	errNoMechanism = errors.New("mail: the server offers no way to sign in")
	errIterations  = errors.New("mail: the server asks for too many iterations")
)

// signIn signs in by the best mechanism that the server offers. The caller has made sure that the connection is
// encrypted or does not leave the machine.
func (s *SMTP) signIn(client *smtp.Client) error {
	_, offered := client.Extension("AUTH")
	auth := s.mechanism(client, strings.Fields(strings.ToUpper(offered)))
	if auth == nil {
		return errNoMechanism
	}
	return client.Auth(auth)
}

func (s *SMTP) mechanism(client *smtp.Client, offered []string) smtp.Auth {
	user, password := s.server.credentials()
	state, err := client.GetTLSConnectionState()
	encrypted := err == nil
	offers := func(name string) bool { return slices.Contains(offered, name) }
	switch {
	case encrypted && offers("SCRAM-SHA-256-PLUS"):
		return bounded{smtp.ScramSHA256PlusAuth(user, password, state)}
	case offers("SCRAM-SHA-256"):
		return bounded{smtp.ScramSHA256Auth(user, password)}
	case encrypted && offers("SCRAM-SHA-1-PLUS"):
		return bounded{smtp.ScramSHA1PlusAuth(user, password, state)}
	case offers("SCRAM-SHA-1"):
		return bounded{smtp.ScramSHA1Auth(user, password)}
	case offers("PLAIN"):
		return smtp.PlainAuth("", user, password, s.server.host, true)
	case offers("LOGIN"):
		return smtp.LoginAuth(user, password, s.server.host, true)
	}
	return nil
}

// bounded is SCRAM with a limit on the work that the server may ask for. The library has no limit.
type bounded struct{ smtp.Auth }

// Next refuses a first message of the server, "r=…,s=…,i=4096", that asks for too much.
func (b bounded) Next(fromServer []byte, more bool) ([]byte, error) {
	if more {
		for field := range bytes.SplitSeq(fromServer, []byte(",")) {
			digits, ok := bytes.CutPrefix(field, []byte("i="))
			if n, err := strconv.Atoi(string(digits)); ok && (err != nil || n < 1 || n > maxIterations) {
				return nil, errIterations
			}
		}
	}
	return b.Auth.Next(fromServer, more)
}
