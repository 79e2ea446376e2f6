// The buttons beside commands and examples, which are hidden without a script.
for (const button of document.querySelectorAll('button.copy')) {
  const shown = button.parentElement.querySelector('code');
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(shown.textContent);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
}
