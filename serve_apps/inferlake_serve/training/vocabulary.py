"""Words of sessions that no language owns: actions, pages, marks, and how people ask for a label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from inferlake_serve.training.labels import Label

ACTIONS: Final = (
    *("open", "view", "click", "tap", "scroll", "search", "filter", "sort", "hover", "swipe", "zoom", "back", "close"),
    *("login", "logout", "signin", "signup", "register", "add_to_cart", "remove_from_cart", "checkout", "pay", "order"),
    *("purchase", "buy", "refund", "cancel", "track", "upload", "download", "share", "print", "export", "import"),
    *("edit", "save", "delete", "rename", "create", "update", "submit", "send", "reply", "comment", "like", "rate"),
    *("review", "follow", "subscribe", "unsubscribe", "play", "pause", "stop", "watch", "listen", "read", "browse"),
    *(
        "navigate",
        "visit",
        "select",
        "choose",
        "apply",
        "compare",
        "book",
        "reserve",
        "check_in",
        "transfer",
        "deposit",
    ),
    *(
        "withdraw",
        "chat",
        "call",
        "contact",
        "help",
        "feedback",
        "notify",
        "message",
        "note",
        "info",
        "event",
        "system",
    ),
    *("status", "log", "page_view", "session_start", "session_end", "form", "input", "type", "change", "confirm"),
    *("api_call", "request", "response", "sync", "backup", "scan", "verify", "sign", "attach", "photo", "ping", "job"),
)

TELLING_ACTIONS: Final[Mapping[Label, tuple[str, ...]]] = {
    Label.NORMAL: ("success", "completed", "done", "confirmed", "paid", "delivered", "approved", "resolved", "ok"),
    Label.ABNORMAL: (
        *("error", "fail", "failed", "failure", "crash", "exception", "timeout", "declined", "denied", "blocked"),
        *("payment_failed", "login_failed", "upload_error", "fraud_alert", "rage_click", "http_500", "dead_click"),
        *("card_declined", "client_error", "server_error", "js_error", "lockout", "chargeback", "dispute", "abort"),
    ),
    Label.PENDING: (
        *("pending", "wait", "waiting", "queued", "on_hold", "hold", "processing", "in_review", "under_review"),
        *("payment_pending", "await_approval", "request_approval", "submit_for_review", "verification_started"),
        *("moderation", "escalate", "awaiting_confirmation", "in_progress", "manual_review", "approval"),
    ),
}

PAGES: Final = (
    *("/", "/home", "/index", "/start", "/login", "/signup", "/account", "/profile", "/settings", "/search", "/help"),
    *("/cart", "/basket", "/checkout", "/checkout/payment", "/payment", "/order", "/orders", "/orders/{n}", "/invoice"),
    *(
        "/product/{n}",
        "/products",
        "/category/shoes",
        "/items/{n}",
        "/p/{n}",
        "/shop",
        "/sale",
        "/wishlist",
        "/reviews",
    ),
    *("/upload", "/files", "/documents", "/docs", "/photos", "/gallery", "/video/{n}", "/player", "/music", "/games"),
    *("/bank/transfer", "/wallet", "/cards", "/loan/apply", "/insurance/claim", "/claims", "/booking", "/flights"),
    *(
        "/hotel/{n}",
        "/tickets",
        "/support",
        "/contact",
        "/faq",
        "/chat",
        "/inbox",
        "/messages",
        "/news",
        "/blog",
        "/feed",
    ),
    *(
        "/admin",
        "/dashboard",
        "/reports",
        "/export",
        "/api/v1/items",
        "/api/orders",
        "/app",
        "/map",
        "/courses",
        "/quiz",
    ),
    *("/refund", "/returns", "/delivery", "/tracking", "/subscription", "/kyc", "/verify", "/sign", "/form", "/jobs"),
)

TELLING_PAGES: Final[Mapping[Label, tuple[str, ...]]] = {
    Label.NORMAL: ("/thank-you", "/success", "/checkout/done", "/confirmation", "/welcome"),
    Label.ABNORMAL: ("/error", "/500", "/404", "/error/500", "/checkout/failed", "/login?error=1", "/blocked", "/oops"),
    Label.PENDING: ("/pending", "/queue", "/waiting-room", "/approvals", "/review-queue", "/processing", "/moderation"),
}

EMOJI: Final = (
    "🙂",
    "😀",
    "👋",
    "🛒",
    "📦",
    "💳",
    "📷",
    "🎵",
    "🎮",
    "👟",
    "🌍",
    "📄",
    "🔍",
    "☕",
    "🚀",
    "🏠",
    "✈️",
    "🐶",
    "💬",
    "❤️",
)

TELLING_EMOJI: Final[Mapping[Label, tuple[str, ...]]] = {
    Label.NORMAL: ("✅", "👍", "🎉", "⭐", "😊", "💯", "🆗"),
    Label.ABNORMAL: ("❌", "⚠️", "🚨", "💥", "😡", "🛑", "🤬", "🔥", "👎", "😭"),
    Label.PENDING: ("⏳", "🕒", "⌛", "🔄", "🙏", "💤", "🤔"),
}

# {p} is the phrase, {n} a number.
WRAPPERS: Final = (
    *(
        "{p}",
        "{p}",
        "{p}",
        "{p}",
        "{p}",
        "{p}",
        "{p}.",
        "{p}!",
        "{p} …",
        "{p} (#{n})",
        "#{n}: {p}",
        "[{n}] {p}",
        '"{p}"',
    ),
    *(
        "{p} | {n}",
        "user {n}: {p}",
        "INFO {p}",
        "{p} - {n} EUR",
        "{p} ${n}",
        "order {n} - {p}",
        "{p} 👉 {n}",
        "id={n} {p}",
    ),
    *("{n}: {p}", "status: {p}", "msg={p}", "({p})", "{p} ref. {n}", "{p}, no. {n}", "> {p}", "- {p}", "{p} 😀"),
)

SYSTEM_PROMPTS: Final = (
    "Label the session.",
    "You label user sessions.",
    "You are a classifier of user sessions. Answer with JSON.",
    'Classify the session as normal, abnormal or pending. Answer with JSON like {"label": "normal"}.',
    'Answer only with JSON: {"label": "normal" | "abnormal" | "pending"}.',
    "You read logs of user sessions and answer with one label: normal, abnormal or pending.",
    "Decide whether the session is normal, abnormal or pending and return a JSON object with the member label.",
    "You are a helpful assistant.",
    "You are a careful support analyst. Read the events and give the label as JSON.",
    "Return a JSON object with one key, label.",
    "Intent classifier. Output: JSON.",
    "Did something fail in this session, is somebody waiting, or is all well? Answer in JSON.",
    "Be brief. JSON only.",
    "Output must match the JSON schema.",
    "Du ordnest Sitzungen ein: normal, abnormal oder pending. Antworte mit JSON.",
    "Classe la session : normal, abnormal ou pending. Réponds en JSON.",
    "Clasifica la sesión: normal, abnormal o pending. Responde en JSON.",
    "判断会话是 normal、abnormal 还是 pending，用 JSON 回答。",
    "セッションを normal、abnormal、pending に分類し、JSON で答えてください。",
)

INSTRUCTIONS: Final = (
    "Classify this session: {x}",
    "Classify: {x}",
    "Session: {x}",
    "Events: {x}",
    "{x}\nWhat is the label?",
    "{x}\n\nAnswer with JSON.",
    "Label the following user session as normal, abnormal or pending.\n{x}",
    "Is this session normal, abnormal or pending?\n\n{x}",
    "Input: {x}\nOutput:",
    "```json\n{x}\n```",
    "Sitzung: {x}",
    "会话：{x}",
    "セッション: {x}",
)

MEDIA_URLS: Final = (
    "https://cdn.example.com/{n}.jpg",
    "https://media.example.org/shots/{n}.png",
    "https://example.com/uploads/{n}/screen.webp",
    "http://img.example.net/a/{n}.jpeg",
    "https://storage.example.com/video/{n}.mp4",
    "s3://sessions/{n}.png",
)
