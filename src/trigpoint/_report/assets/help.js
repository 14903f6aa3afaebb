// Explanations behind question marks: one at a time, closed by Escape or a press elsewhere.

function connectHelp() {
  const all = [...document.querySelectorAll("details.help")];
  const close = (except) => all.forEach((one) => { if (one !== except) one.open = false; });
  document.addEventListener("click", (event) => close(event.target.closest("details.help")));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const open = all.find((one) => one.open);
    close(null);
    // The focus would be lost with what was closed.
    if (open && open.contains(document.activeElement)) open.querySelector("summary").focus();
  });
}
