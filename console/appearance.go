package console

import (
	"context"
	"errors"
	"time"
)

// appearance is the color scheme of the pages in one browser.
type appearance string

// The appearances. That of the system is the one of a browser that has not chosen.
const (
	appearanceSystem appearance = "SYSTEM"
	appearanceLight  appearance = "LIGHT"
	appearanceDark   appearance = "DARK"
)

// appearanceAge is how long a browser keeps its choice: the longest time that browsers allow for a cookie.
const appearanceAge = 400 * 24 * time.Hour

func parseAppearance(text string) (appearance, error) {
	switch a := appearance(text); a {
	case appearanceSystem, appearanceLight, appearanceDark:
		return a, nil
	default:
		return "", errors.New("must be SYSTEM, LIGHT or DARK")
	}
}

// Scheme returns the appearance as the value of CSS color-scheme.
func (a appearance) Scheme() string {
	switch a {
	case appearanceLight:
		return "light"
	case appearanceDark:
		return "dark"
	default:
		return "light dark"
	}
}

// appearance returns the choice of the browser.
func (x *exchange) appearance() appearance {
	chosen, err := parseAppearance(x.cookie(appearanceCookie))
	if err != nil {
		return appearanceSystem
	}
	return chosen
}

// appearanceAct keeps the choice in a cookie, since a person may want another one on another device.
func appearanceAct() act {
	return newAct(act{
		name: "appearance.set", scope: scopeSelf, path: "/account/appearance", page: "/account",
		done: "The appearance is changed in this browser.",
	}, func(m *members) appearance {
		return parsed(m, "appearance", parseAppearance)
	}, func(_ context.Context, c *call, chosen appearance) (outcome, error) {
		if chosen == appearanceSystem {
			c.exchange.removeCookie(appearanceCookie)
		} else {
			c.exchange.setCookie(appearanceCookie, string(chosen), c.exchange.began.Add(appearanceAge))
		}
		return outcome{data: struct{}{}}, nil
	})
}
