package auth

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/backsight/backsight/service/db"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/time/rate"
)

// limits slows down who guesses passwords: of each name, and of all.
type limits struct {
	now    func() time.Time
	lock   sync.Mutex
	names  map[string]*rate.Limiter
	hashes chan struct{}
	nobody func() string // the hash of a password that no one knows
}

const (
	// maxNames bounds the names that are remembered, attempts those of a name in a row; one more comes every wait.
	maxNames, attempts, wait = 4096, 10, 10 * time.Second
	// maxHashes bounds the passwords that are hashed at a time: each takes a core for 50 ms and more.
	maxHashes = 2
)

func newLimits(now func() time.Time) *limits {
	nobody := sync.OnceValue(func() string {
		secret, _ := token()
		b, _ := bcrypt.GenerateFromPassword([]byte(secret), bcrypt.DefaultCost) // 43 bytes are not too long
		return string(b)
	})
	return &limits{now: now, names: map[string]*rate.Limiter{}, hashes: make(chan struct{}, maxHashes), nobody: nobody}
}

// allow tells whether one more attempt for a name may be made.
func (l *limits) allow(name string) bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	of := l.names[name]
	if of == nil {
		if len(l.names) >= maxNames {
			clear(l.names) // who guesses so many names gets no further with one of them
		}
		of = rate.NewLimiter(rate.Every(wait), attempts)
		l.names[name] = of
	}
	return of.AllowN(l.now(), 1)
}

// Login makes a session for a user with a password.
func (u *Users) Login(ctx context.Context, name, password string) (session string, err error) {
	if !u.limited.allow(name) {
		return "", ErrOften
	}
	select {
	case u.limited.hashes <- struct{}{}:
		defer func() { <-u.limited.hashes }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	id, hash, err := u.secret(ctx, name)
	if err != nil {
		return "", err
	}
	if bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) != nil || id == 0 {
		return "", errors.Join(ErrDenied, u.note(ctx, id, "login refused", name))
	}
	if err := u.note(ctx, id, "login", name); err != nil {
		return "", err
	}
	return u.session(ctx, id, sessionLife)
}

// secret is a user's number and hash; of nobody 0, and a hash that takes as long.
func (u *Users) secret(ctx context.Context, name string) (id int64, hash string, err error) {
	err = u.db.Read.QueryRowContext(ctx, "SELECT id, password FROM users WHERE name = $1 AND disabled = 0 AND password <> ''", name).Scan(&id, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, u.limited.nobody(), nil
	}
	return id, hash, err
}

func (u *Users) note(ctx context.Context, id int64, action, object string) error {
	return u.db.Tx(ctx, func(tx *sql.Tx) error { return Audit(ctx, tx, u.now(), id, action, object, "") })
}

// session makes a session of a user, and removes those that have ended.
func (u *Users) session(ctx context.Context, id int64, life time.Duration) (secret string, err error) {
	secret, hash := token()
	now := u.now()
	return secret, u.db.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE expires <= $1", db.Milli(now)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO sessions (token, user_id, created, expires) VALUES ($1, $2, $3, $4)",
			hash, id, db.Milli(now), db.Milli(now.Add(life)))
		return err
	})
}

// Token makes a secret by which a program asks as a user does, for a year.
func (u *Users) Token(ctx context.Context, of User) (secret string, err error) {
	if err := u.note(ctx, of.ID, "token", of.Name); err != nil {
		return "", err
	}
	return u.session(ctx, of.ID, tokenLife)
}

// Of is the user of a session; nobody where it has ended or the user is disabled.
func (u *Users) Of(ctx context.Context, secret string) (of User, err error) {
	if secret == "" {
		return User{}, nil
	}
	err = u.db.Read.QueryRowContext(ctx, "SELECT u.id, u.name, u.email, u.role, u.subject <> '' FROM sessions s JOIN users u ON u.id = s.user_id"+
		" WHERE s.token = $1 AND s.expires > $2 AND u.disabled = 0", hashed(secret), db.Milli(u.now())).Scan(&of.ID, &of.Name, &of.Email, &of.Role, &of.OIDC)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return of, err
}

// Logout ends a session.
func (u *Users) Logout(ctx context.Context, secret string) error {
	_, err := u.db.Write.ExecContext(ctx, "DELETE FROM sessions WHERE token = $1", hashed(secret))
	return err
}
