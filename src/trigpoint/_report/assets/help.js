// Explanations behind question marks. Only one is open at a time; Escape or a click elsewhere
// closes it.

function connectHelp() {
  const all = [...document.querySelectorAll("details.help")];
  const close = (except) => all.forEach((one) => { if (one !== except) one.open = false; });
  document.addEventListener("click", (event) => close(event.target.closest("details.help")));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const open = all.find((one) => one.open);
    close(null);
    // Otherwise the focus would be lost.
    if (open && open.contains(document.activeElement)) open.querySelector("summary").focus();
  });
}
