// What the theme leaves out for those who use a screen reader or the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll(".caption[role=heading]")) {
    caption.setAttribute("aria-level", "2");
  }
  for (const box of document.querySelectorAll("pre, .table-wrapper, .output.text_html, .copy")) {
    const overflows = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    // The line of what opens and closes takes the keyboard itself.
    if (overflows && !box.closest("summary")) {
      box.tabIndex = 0;
    }
  }
});
