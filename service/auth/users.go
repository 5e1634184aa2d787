package auth

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/backsight/backsight/service/db"
)

// Audit notes what a user did to what, in the transaction that does it.
func Audit(ctx context.Context, tx *sql.Tx, now time.Time, user int64, action, object, detail string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO audit (time, user_id, action, object, detail) VALUES ($1, $2, $3, $4, $5)", db.Milli(now), user, action, object, detail)
	return err
}

// Entry is a line of the log of what was done.
type Entry struct {
	ID                           int64
	Time                         time.Time
	User, Action, Object, Detail string
}

// Log are the last entries before a number, 0 for the last of all.
func (u *Users) Log(ctx context.Context, before int64, most int) (list []Entry, err error) {
	rows, err := u.db.Read.QueryContext(ctx, "SELECT a.id, a.time, coalesce(u.name, ''), a.action, a.object, a.detail FROM audit a LEFT JOIN users u ON u.id = a.user_id"+
		" WHERE $1 = 0 OR a.id < $1 ORDER BY a.id DESC LIMIT $2", before, most)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var e Entry
		var ms int64
		if err := rows.Scan(&e.ID, &ms, &e.User, &e.Action, &e.Object, &e.Detail); err != nil {
			return nil, err
		}
		e.Time = time.UnixMilli(ms).UTC()
		list = append(list, e)
	}
	return list, rows.Err()
}

// All are all users, by name.
func (u *Users) All(ctx context.Context) (list []User, err error) {
	rows, err := u.db.Read.QueryContext(ctx, "SELECT id, name, email, role, disabled, subject <> '' FROM users ORDER BY name LIMIT 1000")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var one User
		if err := rows.Scan(&one.ID, &one.Name, &one.Email, &one.Role, &one.Disabled, &one.OIDC); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, rows.Err()
}

// Change gives a user another role, or disables it, which ends its sessions. One admin always stays.
func (u *Users) Change(ctx context.Context, by User, id int64, role Role, disabled bool) error {
	if !role.Valid() {
		return errors.New("no such role")
	}
	return u.db.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE users SET role = $1, disabled = CASE WHEN $2 THEN 1 ELSE 0 END WHERE id = $3", role, disabled, id); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE user_id IN (SELECT id FROM users WHERE id = $1 AND disabled = 1)", id); err != nil {
			return err
		}
		var admins int
		var name string
		err := tx.QueryRowContext(ctx, "SELECT name, (SELECT count(*) FROM users WHERE role = 'admin' AND disabled = 0) FROM users WHERE id = $1", id).Scan(&name, &admins)
		if err != nil {
			return err
		}
		if admins == 0 {
			return ErrLast
		}
		detail := string(role)
		if disabled {
			detail += ", disabled"
		}
		return Audit(ctx, tx, u.now(), by.ID, "user", name, detail)
	})
}
