"""URLs in messages: the value of a parameter named like a secret is hidden."""

from __future__ import annotations

import pytest

from dataflow.model.url_text import (
    holds_secret,
    is_secret,
    list_location_secrets,
    list_secret_parameters,
    masked_host,
    without_secrets,
)

NAMES = (
    "sig", "signature", "token", "access_token", "api_key", "apikey", "key", "password", "pwd", "secret",
    "code", "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "Authorization", "session_id",
    "%73ig",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_parameter_named_like_a_secret_is_a_secret(name: str) -> None:
    url = f"https://store.example/a?page=2&{name}=abc%2Bdefgh&sort=by-customer#x"
    assert list_secret_parameters(url) == ["abc%2Bdefgh", "abc+defgh"]
    assert without_secrets(url) == f"https://store.example/a?page=2&{name}=***&sort=by-customer#x"


@pytest.mark.parametrize(
    "url", ["", "data/{dataid}.csv", "s3://bucket/key=1/x", "https://h/a?country_code=united"]
)
def test_other_text_is_left_alone(url: str) -> None:
    assert list_secret_parameters(url) == []
    assert without_secrets(url) == url


def test_a_short_value_is_masked_but_not_searched_for() -> None:
    assert list_secret_parameters("https://h/a?sort_key=id") == []
    assert without_secrets("https://h/a?sort_key=id") == "https://h/a?sort_key=***"


@pytest.mark.parametrize("name", ["pass", "passphrase", "PHPSESSID", "sid", "hmac", "X-Hmac-SHA256"])
def test_other_names_of_secrets_are_known(name: str) -> None:
    assert without_secrets(f"https://h/a?{name}=abcdefghij&page=2") == f"https://h/a?{name}=***&page=2"


@pytest.mark.parametrize("name", ["passenger", "inside", "side"])
def test_names_that_only_look_like_those_of_secrets_are_shown(name: str) -> None:
    assert list_secret_parameters(f"https://h/a?{name}=abcdefghij") == []


def test_the_password_of_a_location_is_hidden() -> None:
    url = "https://reader:hunter2%21secret@store.example/{dataid}"
    assert without_secrets(url) == "https://reader:***@store.example/{dataid}"
    for plain in ("https://reader@store.example/a:b@c", "/data/a:b@c/{dataid}", "s3://bucket/a@b:c"):
        assert without_secrets(plain) == plain


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://h/a#access_token=abc", "https://h/a#access_token=***"),
        ("jdbc:postgresql://h/d?user=u&password=x", "jdbc:postgresql://h/d?user=u&password=***"),
        ("jdbc:sqlserver://h:1433;user=u;password=x;encrypt=true", None),
        ("BlobEndpoint=https://h/;AccountKey=abc==", "BlobEndpoint=https://h/;AccountKey=***"),
        ("host=h user=u password=x", "host=h user=u password=***"),
        ("password=hunter2 host=h", "password=*** host=h"),
        ("password = 'my secret' host=h", "password = *** host=h"),
        ("AccountKey=ab/c==;BlobEndpoint=https://h/", "AccountKey=***;BlobEndpoint=https://h/"),
        ("Server=h;Pwd=two words;Encrypt=true", "Server=h;Pwd=***;Encrypt=true"),
        ("https://h/a?sig=abc;def", "https://h/a?sig=***"),
        ("https://h/a?sig=abc def&page=2", "https://h/a?sig=***&page=2"),
        ("https://h/a?page=2;sig=abc&n=1", "https://h/a?page=2;sig=***&n=1"),
        ("https://h/a?X/token=abc", "https://h/a?X/token=***"),
        ("https://h/a?sig=SECRET{dataid}", "https://h/a?sig=***"),
        ("postgresql://bob:2024/Pw@host/db", "postgresql://bob:***@host/db"),
        ("https://host:8443/me@corp/", "https://host:***@corp/"),
        ("https://me:a?b@h/?sig=abc", "https://me:***@h/?sig=***"),
    ],
)
def test_a_secret_in_any_kind_of_location_is_found(location: str, shown: str | None) -> None:
    assert holds_secret(location)
    assert without_secrets(location) == (shown or location.replace("=x", "=***"))
    assert holds_secret(without_secrets(location)), "a hidden secret is no data"


@pytest.mark.parametrize(
    "location",
    [
        *(
            "",
            "key=a/{dataid}",
            "/data/key=a/{dataid}",
            "s3://bucket/token=b/{dataid}",
            "https://reader@h/{dataid}",
        ),
        *("https://h/a?key={dataid}&page=2", "hdfs://name:8020/user/me@corp/{dataid}"),
        *("postgresql://warehouse/public.orders?run={run_id}", "lake/{dataset}/dataid={encoded_dataid}"),
    ],
)
def test_an_ordinary_location_holds_no_secret(location: str) -> None:
    assert not holds_secret(location)
    assert without_secrets(location) == location


def test_only_long_secrets_of_a_location_are_searched_for() -> None:
    url = "https://me:hunter2hunter2@h/a?sig=ab%2Fdefgh&token=short"
    assert list_location_secrets(url) == ["ab%2Fdefgh", "ab/defgh", "hunter2hunter2"]


@pytest.mark.parametrize(
    "location",
    [
        "host=h user=u password='hunter2hunter2'",
        "jdbc:sqlserver://h:1433;user=u;password=hunter2hunter2",
        "https://h/a#access_token=hunter2hunter2",
        "AccountKey=hunter2hunter2;BlobEndpoint=https://h/",
    ],
)
def test_what_is_masked_in_a_location_is_searched_for_in_output(location: str) -> None:
    assert "hunter2hunter2" in list_location_secrets(location)
    assert "hunter2" not in without_secrets(location)


@pytest.mark.parametrize(
    ("name", "value"),
    [("password", "x"), ("db_pwd", "x"), ("api_token", "abc"), ("key", "AKIA1234"), ("sig", "***")],
)
def test_an_option_that_holds_a_secret_is_known_by_name_and_value(name: str, value: str) -> None:
    assert is_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("password", ""), ("primary_key", "customer_id"), ("sort_key", "id7"), ("author", "bob")],
        *[("password_file", "/run/secrets/db1"), ("region", "eu-west-1")],
    ],
)
def test_an_option_that_only_sounds_like_a_secret_is_none(name: str, value: str) -> None:
    assert not is_secret(name, value)


def test_the_password_of_a_host_is_masked() -> None:
    assert masked_host("bob:hunter2@db1:5432") == "bob:***@db1:5432"
    assert [masked_host(host) for host in ("db1:5432", "[::1]:5432", "")] == ["db1:5432", "[::1]:5432", ""]


@pytest.mark.parametrize(
    "location",
    [
        *(f"{scheme}://KEY:SECRETSECRET@b/x" for scheme in ("s3", "s3a", "gs", "hdfs", "webhdfs", "file")),
        *("jdbc:oracle:thin:scott/SECRETSECRET@h:1521:x", "jdbc:oracle:thin:scott/SECRETSECRET@//h:1521/x"),
        *("u:SECRETSECRET@tcp(h)/d", "bob:SECRETSECRET@host:/path", "//u:SECRETSECRET@h"),
        *("jdbc:mysql://(host=h,password=SECRETSECRET)/d", "host=h,password=SECRETSECRET"),
        *("https://h/?next=https://u:SECRETSECRET@g/", "https://h/?user_pass=SECRETSECRET"),
        *("https://h/?dbpass=SECRETSECRET", "password=SECRETSECRET/a"),
        *("Server=h;password={a;SECRETSECRET}", "host=h password='it''s SECRETSECRET' port=1"),
    ],
)
def test_a_secret_in_a_less_common_place_is_found(location: str) -> None:
    assert holds_secret(location)
    assert "SECRET" not in without_secrets(location)
    assert any("SECRETSECRET" in secret for secret in list_location_secrets(location))
    assert holds_secret(without_secrets(location)), "a hidden secret is no data"


@pytest.mark.parametrize(
    "location",
    [
        *(
            "/data/a:b@c/{dataid}",
            "s3://bucket/a@b:c",
            "s3://bucket/{dataset}/x,y/{dataid}",
            "C:/data/{dataid}",
        ),
        *("https://h/a?bypass=abcdefgh", "https://reader@h/a:b@c", "file:///data/me@corp/a:b", "data/a:b@c"),
        *("host=h,port=1", "jdbc:oracle:thin:@h:1521:x", "hdfs://name:8020/me@corp", "a/{dataid}:b@c"),
    ],
)
def test_a_location_that_only_looks_as_if_it_held_a_secret_is_shown(location: str) -> None:
    assert without_secrets(location) == location
