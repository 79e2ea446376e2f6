import { render } from 'preact';
import { moveByInsertion } from '../../../platform/ui/moves.ts';
import { followCompositions } from '../../../platform/ui/pressed-key.ts';
import { Console } from './console.tsx';
import { applyTheme } from './shell/theme.ts';

moveByInsertion();
followCompositions(document);
applyTheme();
render(<Console />, document.body);
