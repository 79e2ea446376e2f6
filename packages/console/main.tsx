import { wantedLanguage } from './texts/languages.ts';
import { loadTexts } from './texts/texts.ts';

// Modules of the console use texts as soon as they are loaded. The browser fetches both at once: the
// document names the modules that follow (bin/build/pages.ts).
void loadTexts(wantedLanguage()).then(async (language) => {
  document.documentElement.lang = language;
  const { showConsole } = await import('./start.tsx');
  showConsole();
});
