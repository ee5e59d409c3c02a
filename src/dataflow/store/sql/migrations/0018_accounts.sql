-- People who log in with a password that is kept here, as the text that Argon2id makes of it.
CREATE TABLE user_account (
    name text NOT NULL PRIMARY KEY,
    role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    password_record text NOT NULL,
    created_at $time NOT NULL,
    created_by text NOT NULL,
    password_at $time NOT NULL,
    login_at $time
);

-- Tokens of programs. Only the SHA-256 of a token is kept. expires_at and used_at are seconds since 1970.
CREATE TABLE api_token (
    name text NOT NULL PRIMARY KEY,
    token_hash text NOT NULL UNIQUE,
    role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    created_at $time NOT NULL,
    created_by text NOT NULL,
    expires_at double precision NOT NULL,
    used_at double precision
);

-- Who is logged in. Only the SHA-256 of the cookie is kept; the role is that of the user, or what the configuration
-- gives to an e-mail address. A session ends when it was not used until idle_until, and at ends_at at the latest; both
-- are seconds since 1970.
CREATE TABLE web_session (
    session_hash text NOT NULL PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('user', 'login')),
    name text NOT NULL,
    created_at $time NOT NULL,
    idle_until double precision NOT NULL,
    ends_at double precision NOT NULL
);
CREATE INDEX web_session_name ON web_session (name);
CREATE INDEX web_session_ends ON web_session (ends_at);
