"""Made-up credentials of every shape are found wherever they stand, by both engines alike.

A template is `kind: text`. In it `<A36>` stands for 36 drawn letters and digits, and `|` for nothing: it
keeps prefixes in two, so that scanners for real credentials pass this file by.
"""

import json
import random
import re
import string

import pytest

from midfold.redact import redact

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALPHABETS = {
    "A": UPPER + LOWER + DIGITS,
    "L": UPPER + LOWER,
    "U": UPPER + DIGITS,
    "l": LOWER + DIGITS,
    "h": DIGITS + "abcdef",
    "w": UPPER + LOWER + DIGITS + "-_",
    "b": UPPER + LOWER + DIGITS + "+/",
    "d": DIGITS,
}

BY_SHAPE = """
openai-key: sk-|proj-<w48>
openai-key: sk-|svcacct-<w60>
sk-key: sk-|<A48>
sk-key: sk-|<h32>
anthropic-key: sk-|ant-api03-<w93>AA
midfold-key: mfk|-<w43>
openrouter-key: sk-|or-v1-<h64>
langfuse-key: sk-|lf-<h8>-<h4>-<h4>-<h4>-<h12>
google-key: AI|za<w35>
google-oauth-token: ya|29.<w68>
google-client-secret: GOC|SPX-<w28>
huggingface-token: hf|_<L34>
replicate-token: r8|_<A37>
groq-key: gs|k_<A52>
xai-key: xa|i-<A80>
perplexity-key: ppl|x-<A48>
cerebras-key: cs|k-<l48>
nvidia-key: nva|pi-<w64>
pinecone-key: pcs|k_<A6>_<A54>
tavily-key: tvl|y-dev-<A32>
langsmith-key: ls|v2_pt_<h32>_<h10>
aws-access-key: AK|IA<U16>
aws-access-key: AS|IA<U16>
azure-client-secret: <A3>8Q|~<w34>
alibaba-access-key: LT|AI<A20>
digitalocean-token: do|p_v1_<h64>
heroku-key: HR|KU-<w36>
netlify-token: nf|p_<A36>
vercel-token: vc|p_<A56>
supabase-key: sb|p_<h40>
planetscale-token: psc|ale_tkn_<w43>
databricks-token: da|pi<h32>
vault-token: hv|s.<w90>
terraform-token: <A14>.atl|asv1.<w67>
pulumi-token: pu|l-<h40>
doppler-token: dp|.pt.<A43>
tailscale-key: ts|key-auth-<A16>-<A32>
age-key: AGE-SEC|RET-KEY-1<U58>
1password-token: op|s_eyJ<A200>
github-token: gh|p_<A36>
github-token: gh|o_<A36>
github-token: gh|u_<A36>
github-token: gh|s_<A36>
github-token: gh|r_<A76>
github-pat: github_|pat_<A22>_<A59>
gitlab-token: glp|at-<w20>
gitlab-token: gl|dt-<w20>
gitlab-token: gl|ptt-<h40>
atlassian-token: ATA|TT3<w180>=<U8>
bitbucket-token: ATB|B<A32>
npm-token: np|m_<A36>
pypi-token: py|pi-AgEIcHlwaS5vcmc<w80>
rubygems-key: ruby|gems_<h48>
docker-token: dckr|_pat_<w27>
figma-token: fi|gd_<w40>
linear-key: lin|_api_<A40>
notion-token: secr|et_<A43>
notion-token: nt|n_<A46>
airtable-token: pa|t<A14>.<h64>
grafana-token: gl|c_<b60>
grafana-token: gl|sa_<A32>_<h8>
sentry-token: snt|rys_eyJ<b90>
newrelic-key: NR|AK-<U27>
postman-key: PM|AK-<h24>-<h34>
sonar-token: sq|p_<h40>
slack-token: xo|xb-<d12>-<d12>-<A24>
slack-token: xo|xp-<d12>-<d12>-<d12>-<h32>
slack-token: xa|pp-1-<U11>-<d13>-<h64>
slack-webhook: hooks.sla|ck.com/services/T<U8>/B<U8>/<A24>
discord-webhook: discord.com/api/web|hooks/<d18>/<w68>
discord-token: M<A23>.<A6>.<w27>
stripe-key: sk|_live_<A24>
stripe-key: rk|_live_<A24>
webhook-secret: wh|sec_<A32>
square-secret: sq0|csp-<w43>
paypal-token: access_to|ken$production$<l16>$<h32>
shopify-token: shp|at_<h32>
sendgrid-key: S|G.<w22>.<w43>
mailgun-key: ke|y-<h32>
mailchimp-key: <h32>-us14
twilio-key: S|K<h32>
telegram-token: <d9>:AA<w33>
hubspot-token: pa|t-na1-<h8>-<h4>-<h4>-<h4>-<h12>
dropbox-token: sl|.u.<w120>
asana-token: 1/<d16>:<h32>
easypost-key: EZ|AK<A54>
volcengine-access-key: AK|LT<A44>
baidu-key: bce-v3/ALT|AK-<A21>/<h40>
scaleway-access-key: SC|W<U17>
encoded-private-key: LS0tLS1CRUdJTi|BSU0EgUFJJVkFURSBL<b90>
azure-key: <A52>JQ|QJ99<A22>
azure-devops-token: <A76>AZ|DO<A4>
newrelic-key: <h36>NR|AL
maxmind-key: <A6>_<A29>_m|mk
fcm-key: AA|AA<w7>:<w140>
fal-key: <h8>-<h4>-<h4>-<h4>-<h12>:<h32>
zhipu-key: <h32>.<A16>
password-hash: $2|b$12$<A53>
lob-key: li|ve_<h35>
resend-key: re|_<A8>_<A24>
jwt: ey|JhbGciOiJIUzI1NiJ9.eyJ<A60>.<w43>
"""

BY_PLACE = """
password: password=<A12>
password: DATABASE_PASSWORD_PROD=<A16>
password: PGPASSWORD=<L12>
secret: AWS_SECRET_ACCESS_KEY=<b40>
secret: client_secret: <w34>
token: TWILIO_AUTH_TOKEN=<h32>
api-key: DD_API_KEY=<h32>
api-key: x-api-key: <A40>
api-key: apiKey=<A32>
api-key: AccountKey=<b86>==
api-key: PrivateKey = <b43>=
token: //registry.example/:_authToken=<h36>
token: --access-token <A32>
password: --password <A14>
authorization: Authorization: Basic <b40>
authorization: Authorization: token <h40>
bearer-token: Bearer <A40>
cookie: Set-Cookie: sessionid=<l32>; Path=/; HttpOnly
url-password: postgres://app:<A18>@db.internal:5432/app
url-token: https://<h32>@o1.ingest.sentry.example/42
api-key: https://api.example/v1?sig=<A43>&x=1
token: https://api.example/v1?token=<A32>&x=1
password: machine h login bot password <A20>
password: curl -u bot:<A16>
okta-token: SS|WS <w42>
"""

CONTEXTS = {
    "alone": lambda secret: secret,
    "prose": lambda secret: f"Please use {secret} for the deployment, and tell nobody.",
    "json": lambda secret: json.dumps({"role": "user", "text": f"line one\n{secret}\nline three"}),
    "json in json": lambda secret: json.dumps({"body": json.dumps({"note": f"see {secret} there"})}),
    "shell": lambda secret: f"cd /srv && deploy {secret} && echo done",
    "log": lambda secret: f"2026-03-04T05:06:07Z INFO worker[12]: sent {secret} to upstream",
    "yaml": lambda secret: f"service:\n  note: {secret}\n  size: 3\n",
    "repr": lambda secret: repr({"argument": secret, "n": 1}),
    "chinese": lambda secret: f"请使用{secret}。谢谢",
}
INLINE_CONTEXTS = {
    "environment": lambda secret: f"export SETTING={secret}\n",
    "header": lambda secret: f"X-Thing: {secret}\r\nAccept: */*\r\n",
    "address": lambda secret: f"https://example.com/path/{secret}/x",
    "quoted option": lambda secret: f"run --with '{secret}' --fast",
    "colour": lambda secret: f"\x1b[32m{secret}\x1b[0m",
}


def rows(table):
    return [line.split(": ", 1) for line in table.strip().splitlines()]


def draw(template, seed):
    """Return a credential and its drawn parts."""
    source = random.Random(f"{template} {seed}")
    parts = []

    def fill(match):
        parts.append("".join(source.choices(ALPHABETS[match[1]], k=int(match[2]))))
        return parts[-1]

    return re.sub(r"<(\w)(\d+)>", fill, template.replace("|", "")), parts


def assert_hidden(finder, template, contexts):
    for name, context in contexts.items():
        for seed in range(2):
            secret, parts = draw(template, seed)
            redacted = redact(context(secret), finder=finder)
            assert max(parts, key=len) not in redacted, f"{name}: {redacted}"
            assert redact(redacted, finder=finder) is redacted, name


@pytest.mark.parametrize(("kind", "template"), rows(BY_SHAPE))
def test_a_shape_is_found_wherever_it_stands(finder, kind, template):
    assert_hidden(finder, template, CONTEXTS | INLINE_CONTEXTS)


@pytest.mark.parametrize(("kind", "template"), rows(BY_PLACE))
def test_a_credential_is_found_by_the_name_or_the_line_it_stands_in(finder, kind, template):
    assert_hidden(finder, template, CONTEXTS)


@pytest.mark.parametrize(("kind", "template"), rows(BY_SHAPE) + rows(BY_PLACE))
def test_the_placeholder_says_what_was_there(finder, kind, template):
    secret, _ = draw(template, 0)
    assert [found.kind for found in finder.find(f"use {secret} here")] == [kind]


@pytest.mark.parametrize(("kind", "template"), rows(BY_SHAPE))
def test_nothing_of_a_shape_is_left(finder, kind, template):
    secret, _ = draw(template, 1)
    assert redact(f"use {secret} here", finder=finder) == f"use [REDACTED:{kind}] here"


def test_there_are_enough_shapes():
    assert len(rows(BY_SHAPE)) >= 70
