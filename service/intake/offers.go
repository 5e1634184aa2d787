package intake

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/groups"
	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/packing"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Bounds of offers: in a request, of signatures that are remembered, and how long what is known of a group is believed.
const (
	maxOffers    = 1000
	maxOffer     = 4 << 10
	maxKnown     = 100_000
	believed     = time.Second      // what another node has made of a signature is known here by then
	roomTime     = 30 * time.Second // and for so long nobody asks for more bodies of one that is not known
	unknownFirst = 20               // bodies of a group that is not known, where its project does not say
)

// offer is a crash by its signatures, before its body is sent: docs/signatures.md.
type offer struct {
	Exact   string `json:"exact"`
	Stable  string `json:"stable"`
	Device  string `json:"device"`
	Product string `json:"product"`
	Version string `json:"version"`
}

// What a device is told: the crash is counted; its body is wanted; it is to be offered again later.
const answerKnown, answerSend, answerLater = "known", "send", "later"

// Offers answers them.
type Offers struct {
	db    *db.DB
	mu    sync.Mutex
	known *lru.Cache[offered, *standing]
}

type offered struct {
	project   int64
	signature string
}

// standing is what is known of a signature, and how many bodies are still wanted.
type standing struct {
	group         int64 // 0: none
	count, sample int64
	room          int64
	until, given  time.Time // believed until then; the room was given then
}

// NewOffers makes Offers.
func NewOffers(d *db.DB) (*Offers, error) {
	known, err := lru.New[offered, *standing](maxKnown)
	return &Offers{db: d, known: known}, err
}

// offers answers one offer or a list of them.
func (s *Server) offers(w http.ResponseWriter, r *http.Request, key inbox.Key) error {
	b, err := io.ReadAll(packing.Bounded(r.Body, maxOffers*maxOffer))
	if err != nil {
		return err
	}
	var list []offer
	one := !bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("["))
	if one {
		list = make([]offer, 1)
		err = json.Unmarshal(b, &list[0])
	} else {
		err = json.Unmarshal(b, &list)
	}
	if err != nil || len(list) > maxOffers {
		return wrong("no offer, or more than 1000: {\"exact\": …, \"stable\": …, \"device\": …, \"product\": …, \"version\": …}")
	}
	answers, err := s.answerAll(r.Context(), key, list)
	if err != nil {
		return err
	}
	if one {
		say(w, http.StatusOK, map[string]string{"answer": answers[0]})
	} else {
		say(w, http.StatusOK, map[string][]string{"answers": answers})
	}
	return nil
}

// answerAll answers offers: those that are counted are so when it returns.
func (s *Server) answerAll(ctx context.Context, key inbox.Key, list []offer) ([]string, error) {
	answers := make([]string, len(list))
	counted := make([]groups.Count, 0, len(list))
	for i := range list {
		o := &list[i]
		var group int64
		var by string
		var err error
		if answers[i], group, by, err = s.Offers.answer(ctx, key.Project, o); err != nil {
			return nil, err
		}
		if answers[i] == answerKnown {
			counted = append(counted, groups.Count{Project: key.Project, Group: group, Signature: by, Device: line(o.Device), Product: line(o.Product),
				Version: line(o.Version)})
		}
	}
	if len(counted) == 0 {
		return answers, nil
	}
	return answers, s.Inbox.Count(counted)
}

// answer is what a device is told, the group that the crash is of, and the key that says so.
func (o *Offers) answer(ctx context.Context, project int64, of *offer) (answer string, group int64, by string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var first *standing
	for _, k := range [][2]string{{"exact:", of.Exact}, {"stable:", of.Stable}} {
		if k[1] == "" || k[1] == "-" || len(k[1]) > maxText {
			continue
		}
		key := k[0] + k[1]
		s, err := o.standing(ctx, project, key)
		if err != nil {
			return "", 0, "", err
		}
		if s.group != 0 {
			return s.decide(), s.group, key, nil
		}
		if first == nil {
			first = s
		}
	}
	if first == nil { // no signature: only a body tells
		return answerSend, 0, "", nil
	}
	return first.decide(), 0, "", nil
}

// decide takes of the bodies that are wanted.
func (s *standing) decide() string {
	switch {
	case s.room > 0:
		s.room--
		return answerSend
	case s.group == 0:
		return answerLater
	}
	if s.count++; rand.Int64N(s.count) < s.sample {
		return answerSend
	}
	return answerKnown
}

// standing looks a signature up.
func (o *Offers) standing(ctx context.Context, project int64, signature string) (*standing, error) {
	key, now := offered{project, signature}, time.Now()
	before, ok := o.known.Get(key)
	if ok && now.Before(before.until) {
		return before, nil
	}
	const read = `SELECT s.group_id, g.count, g.kept, p.keep_first, p.keep_sample FROM group_signatures s JOIN groups g ON g.id = s.group_id
		JOIN projects p ON p.id = s.project_id WHERE s.project_id = $1 AND s.signature = $2`
	s := &standing{until: now.Add(believed), given: now}
	var kept, first int64
	err := o.db.Read.QueryRowContext(ctx, read, project, signature).Scan(&s.group, &s.count, &kept, &first, &s.sample)
	switch {
	case errors.Is(err, sql.ErrNoRows) && ok && before.group == 0 && now.Sub(before.given) < roomTime:
		s.room, s.given = before.room, before.given
	case errors.Is(err, sql.ErrNoRows):
		s.room = unknownFirst
	case err != nil:
		return nil, err
	default:
		s.room = max(0, first-kept)
	}
	o.known.Add(key, s)
	return s, nil
}
