"""Credentials that are known by how they look: the prefixes and lengths their issuers chose.

A pattern says where such a credential begins and what it is at least; it ends where its characters end.
Lengths are a little below what issuers hand out, so that a cut credential is found as well. Patterns keep to
the syntax that `engine` describes and have no groups that capture.
"""

import re

from midfold.late_dataclasses import dataclass

_EVIDENCE_CHARS = 16


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of credential."""

    kind: str
    pattern: str
    is_weak: bool = False
    """whether names in code look alike, so that it must not read as words"""

    @property
    def evidence(self) -> str:
        """The pattern cut to what a screen needs.

        An engine that runs through the text once keeps count for every beginning it has seen. The less it has
        to count, the fewer states a text full of beginnings can drive it into.
        """
        return _cut(self.pattern)


@dataclass(frozen=True, slots=True)
class MiddleShape:
    """One kind of credential that only a sign in the middle gives away.

    What comes before the sign has a fixed length.
    """

    kind: str
    before: str
    before_chars: int
    sign: str
    after: str

    @property
    def evidence(self) -> str:
        """The sign and some of what follows, for a screen."""
        return f"{re.escape(self.sign)}{_cut(self.after)}"


def _cut(pattern: str) -> str:
    """Ask for no more at the end of a pattern than a screen needs."""
    return re.sub(r"\{(\d+),\}$", lambda least: f"{{{min(int(least[1]), _EVIDENCE_CHARS)}}}", pattern)


def _strong(*table: tuple[str, str]) -> list[Shape]:
    return [Shape(kind, pattern) for kind, pattern in table]


def _weak(*table: tuple[str, str]) -> list[Shape]:
    return [Shape(kind, pattern, is_weak=True) for kind, pattern in table]


_MODELS = _strong(
    ("anthropic-key", r"sk-ant-[\w-]{16,}"),
    ("midfold-key", r"mfk-[\w-]{43}"),
    ("openrouter-key", r"sk-or-(?:v\d-)?[\w-]{20,}"),
    ("openai-key", r"sk-(?:proj|svcacct|admin|service|None)-[\w-]{16,}"),
    ("langfuse-key", r"sk-lf-[0-9a-f-]{30,}"),
    ("google-key", r"AIza[\w-]{30,}"),
    ("google-key", r"AQ\.Ab8R[\w-]{32,}"),
    ("posthog-key", r"ph[cxs]_[A-Za-z0-9]{32,}"),
    ("huggingface-token", r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    ("replicate-token", r"r8_[A-Za-z0-9]{32,}"),
    ("groq-key", r"gsk_[A-Za-z0-9]{32,}"),
    ("xai-key", r"xai-[A-Za-z0-9_-]{32,}"),
    ("perplexity-key", r"pplx-[A-Za-z0-9]{32,}"),
    ("cerebras-key", r"csk-[a-z0-9]{32,}"),
    ("nvidia-key", r"nvapi-[\w-]{40,}"),
    ("pinecone-key", r"pcsk_[A-Za-z0-9_]{32,}"),
    ("jina-key", r"jina_[\w-]{40,}"),
    ("tavily-key", r"tvly-[A-Za-z0-9-]{24,}"),
    ("langsmith-key", r"lsv2_(?:pt|sk)_[0-9a-f]{24,}(?:_[0-9a-f]+)?"),
    ("firecrawl-key", r"fc-[0-9a-f]{32}"),
    ("together-key", r"tgp_v1_[\w-]{30,}"),
    ("runpod-key", r"rpa_[A-Z0-9]{32,}"),
    ("e2b-key", r"e2b_[0-9a-f]{32,}"),
    ("elevenlabs-key", r"sk_[0-9a-f]{40,}"),
    ("wandb-key", r"wandb_v1_[\w-]{32,}"),
    ("anyscale-key", r"esecret_[A-Za-z0-9]{20,}"),
    ("context7-key", r"ctx7sk-[0-9a-f-]{32,}"),
    ("apify-token", r"apify_api_[A-Za-z0-9]{30,}"),
)
_MODELS += _weak(
    ("sk-key", r"sk-(?:[a-z]{2,12}-)?[A-Za-z0-9]{20,}"),
    ("fireworks-key", r"fw_[A-Za-z0-9]{22,}"),
    ("voyage-key", r"pa-[\w-]{40,}"),
)
_CLOUDS = _strong(
    ("aws-access-key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?:[:,][A-Za-z0-9+/]{40})?"),
    ("aws-bedrock-key", r"ABSK[A-Za-z0-9+/]{60,}={0,2}"),
    ("google-oauth-token", r"ya29\.[\w.-]{20,}"),
    ("google-client-secret", r"GOCSPX-[\w-]{20,}"),
    ("google-refresh-token", r"1//0[\w-]{30,}"),
    ("alibaba-access-key", r"LTAI[A-Za-z0-9]{12,}"),
    ("tencent-secret-id", r"AKID[A-Za-z0-9]{32}"),
    ("volcengine-access-key", r"AKLT[A-Za-z0-9]{20,}"),
    ("baidu-key", r"bce-v3/ALTAK-[\w/-]{40,}"),
    ("scaleway-access-key", r"SCW[A-Z0-9]{17}"),
    ("amazon-mws-key", r"amzn\.mws\.[0-9a-f-]{36}"),
    ("yandex-key", r"AQVN[\w-]{35,}"),
    ("digitalocean-token", r"do[opr]_v1_[0-9a-f]{40,}"),
    ("heroku-key", r"HRKU-[\w-]{30,}"),
    ("cloudflare-key", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"),
    ("cloudflare-token", r"cf[aukd]t_[A-Za-z0-9]{30,}"),
    ("netlify-token", r"nfp_[A-Za-z0-9]{30,}"),
    ("vercel-token", r"vc[apkri]_[A-Za-z0-9]{24,}"),
    ("vercel-token", r"vercel_blob_rw_\w{20,}"),
    ("fly-token", r"fm[12][ar]?_[A-Za-z0-9+/=_-]{60,}"),
    ("fly-token", r"fo1_[\w-]{40,}"),
    ("render-key", r"rnd_[A-Za-z0-9]{28,}"),
    ("supabase-key", r"sbp_[0-9a-f]{36,}"),
    ("supabase-key", r"sb_secret_[\w-]{20,}"),
    ("neon-key", r"napi_[a-z0-9]{40,}"),
    ("planetscale-token", r"pscale_(?:tkn|pw|oauth)_[\w.=-]{30,}"),
    ("databricks-token", r"(?:dapi|dkea|dose)[0-9a-f]{32}(?:-\d)?"),
    ("mongodb-secret", r"mdb_sa_sk_[\w-]{30,}"),
    ("vault-token", r"hv[sbr]\.[\w-]{20,}"),
    ("pulumi-token", r"pul-[0-9a-f]{36,}"),
    ("doppler-token", r"dp\.(?:pt|st|sa|ct|scim|audit|said)\.[\w.-]{36,}"),
    ("infracost-key", r"ico-[A-Za-z0-9]{32}"),
    ("tailscale-key", r"tskey-[\w-]{20,}"),
    ("openshift-token", r"sha256~[\w-]{40,}"),
    (
        "encoded-private-key",
        r"LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJVkFURS|BFQyBQUklWQVRF|BPUEVOU1NIIFBSSVZBVEUg|"
        r"BFTkNSWVBURUQgUFJJVkFURS)[A-Za-z0-9+/=]{16,}",
    ),
    ("age-key", r"AGE-SECRET-KEY-1[0-9A-Za-z]{50,}"),
    ("1password-token", r"ops_eyJ[A-Za-z0-9+/=_-]{60,}"),
    (
        "1password-key",
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
    ),
)
_CODE = _strong(
    ("github-token", r"gh[pousr]_[A-Za-z0-9_]{30,}"),
    ("github-pat", r"github_pat_\w{22,}"),
    (
        "gitlab-token",
        r"gl(?:pat|dt|ptt|rt|rtr|cbt|ft|imt|agent|soat|ffct|oas|wt)-[\w-]{20,}(?:\.[\w.-]{2,})?",
    ),
    ("gitlab-runner-token", r"GR1348941[\w-]{20,}"),
    ("bitbucket-token", r"ATBB[A-Za-z0-9_=-]{24,}"),
    ("bitbucket-token", r"BBDC-[A-Za-z0-9+/@_-]{40,}"),
    ("atlassian-token", r"AT[AC]TT3?[\w=-]{24,}"),
    ("npm-token", r"npm_[A-Za-z0-9]{30,}"),
    ("pypi-token", r"pypi-AgE[\w-]{32,}"),
    ("rubygems-key", r"rubygems_[0-9a-f]{40,}"),
    ("clojars-token", r"CLOJARS_[a-z0-9]{50,}"),
    ("crates-token", r"cio[A-Za-z0-9]{32}"),
    ("nuget-key", r"oy2[a-z0-9]{43}"),
    ("jfrog-token", r"AKCp[A-Za-z0-9]{60,}"),
    ("jfrog-token", r"cmVmd[A-Za-z0-9]{59}"),
    ("docker-token", r"dckr_[op]at_[\w-]{24,}"),
    ("circleci-token", r"CCI(?:PAT|PRJ)_[A-Za-z0-9]{22}_[0-9a-f]{40}"),
    ("buildkite-token", r"bk(?:ua|at|ct|pat|rt)_[A-Za-z0-9]{30,}"),
    ("sonar-token", r"sq[pau]_[0-9a-f]{36,}"),
    ("sourcegraph-token", r"sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}"),
    ("postman-key", r"PMAK-[0-9a-f]{24}-[0-9a-f]{30,}"),
    ("postman-key", r"PMAT-[A-Z0-9]{24,}"),
    ("octopus-key", r"API-[A-Z0-9]{25,}"),
    ("harness-token", r"[ps]at\.[\w-]{20,24}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    ("prefect-key", r"pn[ub]_[A-Za-z0-9]{32,}"),
    ("figma-token", r"fig[dour]{1,2}_[\w-]{36,}"),
    ("linear-key", r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    ("notion-token", r"secret_[A-Za-z0-9]{40,}"),
    ("notion-token", r"ntn_[A-Za-z0-9]{36,}"),
    ("airtable-token", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{60,}"),
    ("contentful-token", r"CFPAT-[\w-]{36,}"),
    ("grafana-token", r"glc_[A-Za-z0-9+/=_-]{32,}"),
    ("grafana-token", r"glsa_[A-Za-z0-9]{28,}_[0-9a-f]{6,}"),
    ("grafana-key", r"eyJrIjoi[A-Za-z0-9+/_-]{40,}={0,2}"),
    ("sentry-token", r"sntrys_[A-Za-z0-9+/=_-]{40,}"),
    ("sentry-token", r"sntryu_[0-9a-f]{40,}"),
    ("newrelic-key", r"NR(?:AK|JS|II|AA|IQ|RA)-[\w-]{18,}"),
    ("dynatrace-token", r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{60,}"),
)
_SERVICES = _strong(
    ("slack-token", r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9%-]{10,}"),
    ("slack-token", r"xapp-\d-[A-Za-z0-9-]{20,}"),
    ("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/-]{20,}"),
    ("discord-webhook", r"discord(?:app)?\.com/api/webhooks/\d{10,22}/[\w-]{40,}"),
    ("teams-webhook", r"webhook\.office\.com/webhookb2/[\w@/-]{40,}"),
    ("zapier-webhook", r"hooks\.zapier\.com/hooks/catch/[\w/]{10,}"),
    ("stripe-key", r"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{16,}"),
    ("webhook-secret", r"whsec_[A-Za-z0-9+/=_-]{24,}"),
    ("square-secret", r"sq0(?:atp|csp|idp|acp)-[\w-]{20,}"),
    ("paypal-token", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    ("plaid-token", r"access-(?:sandbox|development|production)-[0-9a-f-]{36}"),
    ("shopify-token", r"shp(?:at|ca|pa|ss|tka|ua)_[0-9A-Za-z]{30,}"),
    ("lob-key", r"(?:live|test)_[0-9a-f]{35}"),
    ("shippo-token", r"shippo_(?:live|test)_[0-9a-f]{36,}"),
    ("easypost-key", r"EZ[AT]K[A-Za-z0-9]{50,}"),
    ("flutterwave-key", r"FLWSECK(?:_TEST)?-[0-9A-Za-z]{30,}-X"),
    ("duffel-token", r"duffel_(?:test|live)_[\w=-]{40,}"),
    ("sendgrid-key", r"SG\.[\w-]{16,32}\.[\w-]{16,}"),
    ("brevo-key", r"xkeysib-[0-9a-f]{50,}-[A-Za-z0-9]{12,}"),
    ("mailgun-key", r"(?:pub)?key-[0-9a-f]{32}"),
    ("twilio-key", r"(?:SK|AC)[0-9a-f]{32}"),
    ("hubspot-token", r"pat-(?:na|eu|ap)\d-[0-9a-f-]{36}"),
    ("launchdarkly-key", r"(?:sdk|api|mob)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    ("mapbox-token", r"[ps]k\.eyJ[\w-]{40,}(?:\.[\w-]{16,})?"),
    ("dropbox-token", r"sl\.(?:u\.)?[\w-]{60,}"),
    ("typeform-token", r"tfp_[\w.=-]{40,}"),
    ("readme-key", r"rdme_[a-z0-9]{60,}"),
    ("adafruit-key", r"aio_[A-Za-z0-9]{28}"),
    ("okta-token", r"SSWS +[\w-]{40,}"),
    ("contentstack-token", r"cs[0-9a-f]{32}"),
)
_SERVICES += _weak(
    ("resend-key", r"re_[A-Za-z0-9]{6,}_[A-Za-z0-9]{16,}"),
    ("square-token", r"EAAA[\w-]{56,}"),
    ("telegram-token", r"bot\d{8,10}:[\w-]{35}"),
    ("facebook-token", r"EAA[A-Za-z0-9]{80,}"),
)

WORD_SHAPES = (*_MODELS, *_CLOUDS, *_CODE, *_SERVICES)
"""The shapes that begin with their prefix."""

GLUED_SHAPES = (
    *(r"gh[pousr]_[A-Za-z0-9]{20}", r"github_pat_\w{20}", r"glpat-[\w-]{20}", r"(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    *(
        r"AIzaSy[\w-]{20}",
        r"sk-(?:ant|proj|svcacct|or-v1)-[\w-]{20}",
        r"xox[abeprs]-[0-9]{8}",
        r"hf_[A-Za-z]{30}",
    ),
    *(
        r"npm_[A-Za-z0-9]{30}",
        r"[sr]k_live_[A-Za-z0-9]{16}",
        r"gsk_[A-Za-z0-9]{32}",
        r"do[opr]_v1_[0-9a-f]{20}",
    ),
    *(r"dckr_pat_[\w-]{20}", r"pypi-AgE[\w-]{20}", r"sntrys_[\w-]{20}", r"nvapi-[\w-]{30}"),
)
"""Shapes so sure that letters before them are no part of them: a copy may have lost the blank between."""

# These begin with nothing suspicious, or go on for long before they are sure. They have to begin their run of
# characters, so that of many possible beginnings in one run a single one is followed up.
RUN_PREFIX = b"eyJ"
"""The beginning of the one shape that is not sure after any fixed number of characters."""
RUN_SHAPES = (
    Shape("jwt", r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}"),
    Shape("discord-token", r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}"),
    Shape("telegram-token", r"\d{8,10}:[\w-]{35}", is_weak=True),
    Shape("asana-token", r"[12]/\d{10,20}(?:/\d{10,20})?:[0-9a-f]{32}"),
    Shape("fcm-key", r"AAAA[\w-]{7}:[\w-]{100,}"),
    Shape("fal-key", r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:[0-9a-f]{32}"),
    Shape("zhipu-key", r"[0-9a-f]{32}\.[A-Za-z0-9]{16}\b"),
    Shape("password-hash", r"\$(?:2[abxy]\$\d{2}|[156y]|apr1|argon2id?)\$[./A-Za-z0-9$=,+-]{20,}"),
    Shape("password-hash", r"\{(?:SSHA|SHA|SMD5|CRYPT|ARGON2|PBKDF2)[\w-]{0,8}\}[./A-Za-z0-9$=,+-]{20,}"),
    Shape("mailgun-key", r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}"),
)

MIDDLE_SHAPES = (
    MiddleShape("azure-client-secret", r"[\w~.-]{3}\d", 4, "Q~", r"[\w~.-]{30,}"),
    MiddleShape("azure-key", r"[A-Za-z0-9]{52}", 52, "JQQJ99", r"[A-Za-z0-9]{20,}"),
    MiddleShape("azure-devops-token", r"[A-Za-z0-9]{76}", 76, "AZDO", r"[A-Za-z0-9]{4}"),
    MiddleShape("terraform-token", r"[A-Za-z0-9]{14}", 14, ".atlasv1.", r"[\w-]{40,}"),
    MiddleShape("newrelic-key", r"[0-9a-z]{36}", 36, "NRAL", r"\b"),
    MiddleShape("mailchimp-key", r"[0-9a-f]{32}", 32, "-us", r"\d{1,2}\b"),
    MiddleShape("maxmind-key", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}", 36, "_mmk", r"\b"),
)
MAX_BEFORE_CHARS = max(shape.before_chars for shape in MIDDLE_SHAPES)

SHAPES: tuple[Shape, ...] = (*WORD_SHAPES, *RUN_SHAPES)
