-- name: add_user
-- Nothing if the name is taken.
INSERT INTO user_account (name, role, password_record, created_at, created_by, password_at)
VALUES (:name, :role, :password_record, $now_at, :actor, $now_at)
ON CONFLICT (name) DO NOTHING

-- name: list_users
SELECT name, role, created_at, created_by, password_at, login_at FROM user_account ORDER BY name

-- name: find_password
SELECT password_record FROM user_account WHERE name = :name

-- name: set_password
UPDATE user_account SET password_record = :password_record, password_at = $now_at WHERE name = :name

-- name: remove_user
DELETE FROM user_account WHERE name = :name

-- name: record_login
-- Nothing if the user is gone or the password has changed since it was verified. It holds the user's row, so that a
-- change of the password waits and then ends the session that this login starts.
UPDATE user_account SET login_at = $now_at WHERE name = :name AND password_record = :password_record

-- name: start_session
INSERT INTO web_session (session_hash, kind, name, created_at, idle_until, ends_at)
VALUES (:session_hash, :kind, :name, $now_at, $now_seconds + :idle_seconds, $now_seconds + :longest_seconds)

-- name: find_session
-- Who is logged in, with the current role of a local user, and whether the session was last renewed more than a minute
-- ago. A user that is gone is logged in no more.
SELECT s.name, u.role, s.idle_until < $now_seconds + :idle_seconds - 60 FROM web_session s
LEFT JOIN user_account u ON s.kind = 'user' AND u.name = s.name
WHERE s.session_hash = :session_hash AND s.idle_until > $now_seconds AND s.ends_at > $now_seconds
  AND (s.kind <> 'user' OR u.name IS NOT NULL)

-- name: renew_session
UPDATE web_session SET idle_until = $now_seconds + :idle_seconds WHERE session_hash = :session_hash

-- name: end_session
DELETE FROM web_session WHERE session_hash = :session_hash

-- name: end_sessions_of
DELETE FROM web_session WHERE name = :name

-- name: forget_sessions
-- Those that have ended by themselves.
DELETE FROM web_session WHERE ends_at <= $now_seconds OR idle_until <= $now_seconds

-- name: add_token
-- Nothing if the name is taken.
INSERT INTO api_token (name, token_hash, role, created_at, created_by, expires_at)
VALUES (:name, :token_hash, :role, $now_at, :actor, $now_seconds + :seconds)
ON CONFLICT (name) DO NOTHING

-- name: list_tokens
SELECT name, role, created_at, created_by, expires_at, expires_at <= $now_seconds, used_at FROM api_token ORDER BY name

-- name: find_token
-- A token that has not expired, and whether its use was recorded in the last minute.
SELECT name, role, used_at IS NOT NULL AND used_at > $now_seconds - 60 FROM api_token
WHERE token_hash = :token_hash AND expires_at > $now_seconds

-- name: record_use
UPDATE api_token SET used_at = $now_seconds WHERE token_hash = :token_hash

-- name: revoke_token
DELETE FROM api_token WHERE name = :name
