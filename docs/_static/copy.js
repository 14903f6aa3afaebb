// A button that copies the code of each block.
document.addEventListener("DOMContentLoaded", () => {
  // Browsers offer the clipboard to secure pages and local files only.
  if (!navigator.clipboard) return;
  for (const block of document.querySelectorAll("div.highlight-python, div.highlight-sh")) {
    const button = document.createElement("button");
    button.className = "copy-code";
    button.textContent = "Copy";
    button.title = "Copy this code";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(block.querySelector("pre").textContent.trimEnd() + "\n");
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.append(button);
  }
});
