import { wantedLanguage } from './texts/languages.ts';
import { loadTexts } from './texts/texts.ts';

// Modules of the console use texts as soon as they are loaded. The document has the browser fetch
// them meanwhile (bin/build/pages.ts).
void loadTexts(wantedLanguage()).then(async () => {
  const { showConsole } = await import('./start.tsx');
  showConsole();
});
