"""Which variables the store may set: none that a loader, shell, interpreter or tool is known to read."""

from __future__ import annotations

import pytest

from dataflow.model.variable_names import list_secrets, may_come_from_store

READ_BY_PROGRAMS = [
    "PATH", "HOME", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS4", "IFS", "CDPATH",
    "PROMPT_COMMAND", "BASH_FUNC_ls%%", "BASH_FUNC_ls()", "BASH_XTRACEFD", "LD_PRELOAD",
    "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "GCONV_PATH", "GLIBC_TUNABLES",
    "MALLOC_CHECK_", "LOCPATH", "NLSPATH", "HOSTALIASES", "RES_OPTIONS", "LOCALDOMAIN", "TZDIR",
    "TMPDIR", "TERMINFO", "TERMCAP", "XDG_CONFIG_HOME", "EDITOR", "VISUAL", "PAGER", "LESSOPEN",
    "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT", "PERL5LIB", "PERL5OPT", "PERL5DB",
    "RUBYOPT", "RUBYLIB", "NODE_OPTIONS", "NODE_PATH", "LUA_INIT", "LUA_PATH", "PHPRC",
    "PHP_INI_SCAN_DIR", "R_PROFILE", "R_LIBS", "JULIA_LOAD_PATH", "TCLLIBPATH", "ERL_FLAGS",
    "DOTNET_STARTUP_HOOKS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH",
    "JAVA_HOME", "SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "PYSPARK_PYTHON",
    "HADOOP_CONF_DIR", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "SSH_AUTH_SOCK", "SSH_ASKPASS",
    "TAR_OPTIONS", "GZIP", "MAKEFLAGS", "PGSERVICEFILE", "PGPASSFILE", "PGSYSCONFDIR", "PGHOST",
    "PGOPTIONS", "PSQLRC", "ODBCINI", "ODBCSYSINI", "TNS_ADMIN", "LIBMYSQL_PLUGINS", "KRB5_CONFIG",
    "OPENSSL_CONF", "SSL_CERT_FILE", "SSLKEYLOGFILE", "CURL_HOME", "CURL_CA_BUNDLE", "WGETRC",
    "KUBECONFIG", "DOCKER_HOST", "AWS_CONFIG_FILE", "AWS_CA_BUNDLE", "CLOUDSDK_CONFIG",
    "GOOGLE_APPLICATION_CREDENTIALS", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy",
    "https_proxy", "all_proxy", "no_proxy", "ftp_proxy", "http_proxy_user", "npm_config_script_shell",
    "npm_config_node_options", "pnpm_config_x", "yarn_ignore_path", "fish_function_path", "rvm_path",
    "PIP_index_url", "NPM_CONFIG_registry", "_", "__fish_config_dir", "DATAFLOW_STORE",
    "DATAFLOW_GUARD_TOKEN", "PASSKEY", "MODE", "Path", "x-y", "x=y", "ünder", "1x",
]  # fmt: skip


@pytest.mark.parametrize("name", [*READ_BY_PROGRAMS, "", "a\nb", "a\n"])
def test_the_store_cannot_set_a_variable_that_programs_read(name: str) -> None:
    assert not may_come_from_store(name)


@pytest.mark.parametrize("name", ["mode", "region", "batch_size", "x", "job_http_proxy", "job_path", "v2"])
def test_a_job_may_set_any_name_in_lower_case(name: str) -> None:
    assert may_come_from_store(name)


@pytest.mark.parametrize(
    "value",
    [
        '{"conn_type": "http", "login": "me", "password": "hunter2hunter2"}',
        '{"conn_type": "http", "extra": {"api_key": "hunter2hunter2"}}',
        '{"conn_type": "http", "extra": "{\\"token\\": \\"hunter2hunter2\\"}"}',
        "http://host/?token=hunter2hunter2",
    ],
)
def test_the_secrets_of_a_connection_of_airflow_are_known(value: str) -> None:
    assert "hunter2hunter2" in list_secrets({"AIRFLOW_CONN_SHOP": value})


@pytest.mark.parametrize("value", ["{", "{}", '{"extra": 1}', '{"extra": [1]}', '{"password": null}'])
def test_a_connection_of_airflow_without_a_secret_has_none(value: str) -> None:
    assert list_secrets({"AIRFLOW_CONN_SHOP": value}) == []
