// What a page does by itself: pausing the refresh, saying when it fails, copying statements.
// Everything works without this file; it only adds.
"use strict";

(() => {
  const PAUSED = "inferlake.paused";
  const live = document.getElementById("live");
  const notice = document.getElementById("notice");
  const pause = document.getElementById("pause");

  // ---------------------------------------------------------------- pausing, remembered over pages

  const paused = () => sessionStorage.getItem(PAUSED) === "yes";

  function showPause() {
    pause.setAttribute("aria-pressed", String(paused()));
    pause.querySelector(".pause-word").textContent = paused() ? "Refresh is paused" : "Pause refresh";
  }

  if (pause) {
    document.getElementById("without-script").hidden = true;
    pause.hidden = false;
    showPause();
    pause.addEventListener("click", () => {
      sessionStorage.setItem(PAUSED, paused() ? "no" : "yes");
      showPause();
    });
  }

  // ---------------------------------------------------------------- the refresh keeps the last good content

  function failing(cause) {
    if (notice.textContent) return; // said once, with the moment it began
    const since = new Date().toISOString().slice(11, 19);
    notice.textContent = `${cause} since ${since} UTC. What you see is the last good state; this page keeps trying.`;
  }

  document.addEventListener("htmx:before:request", (event) => {
    // A page that nobody looks at asks for nothing, and neither does one whose reader is selecting text in it.
    const selecting = !getSelection().isCollapsed && live.contains(getSelection().anchorNode);
    if (paused() || document.hidden || selecting) event.preventDefault();
  });
  document.addEventListener("htmx:after:swap", () => {
    notice.textContent = "";
    revealCopyButtons();
  });
  document.addEventListener("htmx:error", () => failing("The registry has not answered"));
  document.addEventListener("htmx:response:error", (event) => {
    failing(`The registry has answered ${event.detail.ctx.response.status}`);
  });

  // ---------------------------------------------------------------- copying

  function revealCopyButtons() {
    if (!navigator.clipboard) return; // only on a trustworthy address
    for (const button of document.querySelectorAll("button.copy[hidden]")) button.hidden = false;
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    const said = await navigator.clipboard
      .writeText(button.parentElement.querySelector("code").textContent)
      .then(() => "Copied", () => "Not allowed by the browser");
    button.textContent = said;
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });

  revealCopyButtons();
})();
