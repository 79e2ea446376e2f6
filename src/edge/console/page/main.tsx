import { render } from 'preact';
import { moveByInsertion } from '../../../platform/ui/moves.ts';
import { Console } from './console.tsx';
import { applyTheme } from './shell/theme.ts';

moveByInsertion();
applyTheme();
render(<Console />, document.body);
