import { moveByInsertion } from '@parley/ui/moves.ts';
import { followCompositions } from '@parley/ui/typing/pressed-key.ts';
import { render } from 'preact';
import { Console } from './console.tsx';
import { applyTheme } from './shell/theme.ts';

/** Shows the console in the page. */
export function showConsole(): void {
  moveByInsertion();
  followCompositions(document);
  applyTheme();
  render(<Console />, document.body);
}
