package console

import (
	"time"

	"github.com/floatgate/ticketing"
)

// quietFor is how long a predecessor must be unused until its successor counts as deployed everywhere. The use of a key
// is recorded about once a minute.
const quietFor = 10 * time.Minute

// shownFor is how long a rotation is shown after it was finished.
const shownFor = 24 * time.Hour

// rotation is a key and its successor on the way through the five steps of section 5.1.
type rotation struct {
	Predecessor ticketing.APIKey `json:"predecessor"`
	Successor   ticketing.APIKey `json:"successor"`
	Steps       []rotationStep   `json:"steps"`
	Done        bool             `json:"done"`
}

// rotationStep is one of the five steps. Exactly the first that is not done is Current.
type rotationStep struct {
	Name    string `json:"name"` // KEEP, ROTATE, DEPLOY, CONFIRM or REVOKE
	Done    bool   `json:"done"`
	Current bool   `json:"current"`
}

// Confirmed reports whether the predecessor can be revoked safely, as far as the recorded uses show.
func (r rotation) Confirmed() bool {
	for _, step := range r.Steps[:4] {
		if !step.Done {
			return false
		}
	}
	return true
}

// rotationsOf returns the rotations that are under way or were finished in the last day, newest first. Each step
// follows from the keys alone, so nobody has to tick it off.
func rotationsOf(keys []ticketing.APIKey, now time.Time) []rotation {
	rotations := []rotation{}
	for _, successor := range keys {
		if successor.PredecessorID == nil || successor.Status != ticketing.APIKeyActive {
			continue
		}
		for _, predecessor := range keys {
			if predecessor.ID != *successor.PredecessorID {
				continue
			}
			revoked := predecessor.Status == ticketing.APIKeyRevoked
			if !revoked || now.Sub(predecessor.RevokedAt.Time) < shownFor {
				rotations = append(rotations, newRotation(predecessor, successor, now))
			}
		}
	}
	return rotations
}

func newRotation(predecessor, successor ticketing.APIKey, now time.Time) rotation {
	used := successor.LastUsedAt != nil
	quiet := predecessor.LastUsedAt == nil || now.Sub(predecessor.LastUsedAt.Time) >= quietFor
	revoked := predecessor.Status == ticketing.APIKeyRevoked
	r := rotation{Predecessor: predecessor, Successor: successor, Done: revoked, Steps: []rotationStep{
		{Name: "KEEP", Done: true},
		{Name: "ROTATE", Done: true},
		{Name: "DEPLOY", Done: used && quiet || revoked},
		{Name: "CONFIRM", Done: used},
		{Name: "REVOKE", Done: revoked},
	}}
	for i := range r.Steps {
		if !r.Steps[i].Done {
			r.Steps[i].Current = true
			break
		}
	}
	return r
}
