// Package auth knows who asks, and what that one may do: users of this service and of an OIDC provider, three roles, sessions, and
// the log of what was done.
package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/backsight/backsight/service/db"
	"golang.org/x/crypto/bcrypt"
)

// Role is what a user may do.
type Role string

// Roles: a viewer reads, a triager decides about groups, an admin about all else.
const (
	Viewer  Role = "viewer"
	Triager Role = "triager"
	Admin   Role = "admin"
)

// Roles are all roles, each of which may do what those before it may.
func Roles() []Role { return []Role{Viewer, Triager, Admin} }

// rank is a role's place among the others, 0 for what is none.
func (r Role) rank() int { return map[Role]int{Viewer: 1, Triager: 2, Admin: 3}[r] }

// Valid tells whether r is a role.
func (r Role) Valid() bool { return r.rank() > 0 }

// May tells whether a role may do what another one may.
func (r Role) May(least Role) bool { return least.Valid() && r.rank() >= least.rank() }

// User is who asks. The zero value is nobody, who may do nothing.
type User struct {
	ID          int64
	Name, Email string
	Role        Role
	Disabled    bool
	// OIDC tells that a provider says who this is; else a password does.
	OIDC bool
}

// Lifetimes of what users are given.
const (
	sessionLife    = 14 * 24 * time.Hour
	tokenLife      = 365 * 24 * time.Hour
	invitationLife = 7 * 24 * time.Hour
)

// Errors of people, which they are told.
var (
	ErrDenied   = errors.New("name and password do not go together")
	ErrOften    = errors.New("too many attempts; wait a minute")
	ErrLink     = errors.New("this link was used, is too old, or never was one")
	ErrName     = errors.New("a name has 1 to 64 letters, digits, or any of . _ - @, and nobody else has it")
	ErrPassword = errors.New("a password has 10 to 72 bytes")
	ErrLast     = errors.New("the last admin stays one")
)

// Users are those of a database.
type Users struct {
	db      *db.DB
	now     func() time.Time
	limited *limits
}

// NewUsers makes the users of a database by a clock.
func NewUsers(d *db.DB, now func() time.Time) *Users {
	return &Users{db: d, now: now, limited: newLimits(now)}
}

// token is a new secret, and its hash, which is what the database keeps.
func token() (secret string, hash []byte) {
	var b [32]byte
	rand.Read(b[:]) // never fails: crypto/rand
	secret = base64.RawURLEncoding.EncodeToString(b[:])
	return secret, hashed(secret)
}

func hashed(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// FirstLink is the path of a link that makes the first admin, "" where there is a user already. Links that it gave before end.
func (u *Users) FirstLink(ctx context.Context) (path string, err error) {
	secret, hash := token()
	err = u.db.Tx(ctx, func(tx *sql.Tx) error {
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM users").Scan(&n); err != nil || n > 0 {
			return err
		}
		path = "/join/" + secret
		if _, err := tx.ExecContext(ctx, "DELETE FROM invitations"); err != nil {
			return err
		}
		return u.invite(ctx, tx, hash, Admin)
	})
	return path, err
}

func (u *Users) invite(ctx context.Context, tx *sql.Tx, hash []byte, role Role) error {
	now := u.now()
	_, err := tx.ExecContext(ctx, "INSERT INTO invitations (token, role, created, expires) VALUES ($1, $2, $3, $4)",
		hash, role, db.Milli(now), db.Milli(now.Add(invitationLife)))
	return err
}

// Invite is the path of a link that makes a user of a role. by is who gives it.
func (u *Users) Invite(ctx context.Context, by User, role Role) (path string, err error) {
	if !role.Valid() {
		return "", fmt.Errorf("%q is no role", role)
	}
	secret, hash := token()
	err = u.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := u.invite(ctx, tx, hash, role); err != nil {
			return err
		}
		return Audit(ctx, tx, u.now(), by.ID, "invite", string(role), "")
	})
	return "/join/" + secret, err
}

// Invited tells whether a link's secret makes a user, and of which role.
func (u *Users) Invited(ctx context.Context, secret string) (role Role, err error) {
	err = u.db.Read.QueryRowContext(ctx, "SELECT role FROM invitations WHERE token = $1 AND used = 0 AND expires > $2",
		hashed(secret), db.Milli(u.now())).Scan(&role)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrLink
	}
	return role, err
}

// Join makes the user that a link is for, and a session.
func (u *Users) Join(ctx context.Context, secret, name, password string) (session string, err error) {
	role, err := u.Invited(ctx, secret)
	if err != nil {
		return "", err
	}
	if !validName(name) {
		return "", ErrName
	}
	hash, err := u.hash(password)
	if err != nil {
		return "", err
	}
	var id int64
	err = u.db.Tx(ctx, func(tx *sql.Tx) error {
		id, err = u.create(ctx, tx, secret, name, hash, role)
		return err
	})
	if err != nil {
		return "", err
	}
	return u.session(ctx, id, sessionLife)
}

// create makes the user that a link is for, and ends the link.
func (u *Users) create(ctx context.Context, tx *sql.Tx, secret, name, hash string, role Role) (id int64, err error) {
	done, err := tx.ExecContext(ctx, "UPDATE invitations SET used = 1 WHERE token = $1 AND used = 0", hashed(secret))
	if err != nil {
		return 0, err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return 0, errors.Join(ErrLink, err)
	}
	err = tx.QueryRowContext(ctx, "INSERT INTO users (name, role, password, created) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING RETURNING id",
		name, role, hash, db.Milli(u.now())).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, ErrName
	} else if err != nil {
		return 0, err
	}
	return id, Audit(ctx, tx, u.now(), id, "join", name, string(role))
}

const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@"

func validName(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, nameCharacters) == ""
}

// hash is what is kept of a password.
func (u *Users) hash(password string) (string, error) {
	const least, most = 10, 72 // bcrypt reads no more
	if len(password) < least || len(password) > most {
		return "", ErrPassword
	}
	b, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost)
	return string(b), err
}
