import { render } from 'preact';
import { Console } from './console.tsx';
import { applyTheme } from './shell/theme.ts';

applyTheme();
render(<Console />, document.body);
