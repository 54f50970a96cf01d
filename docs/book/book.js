// What the theme leaves out for those who use a screen reader or the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll(".caption[role=heading]")) {
    caption.setAttribute("aria-level", "2");
  }
  for (const box of document.querySelectorAll("pre, .table-wrapper, .output.text_html, .copy")) {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) {
      box.tabIndex = 0;
    }
  }
});
