import { texts } from '../texts/texts.ts';

/** What a form of a widget has so far. */
interface WidgetDraft {
  readonly colors?: { readonly light?: string; readonly dark?: string };
  readonly texts?: { readonly en?: { readonly greeting?: string } };
}

/** Shows how the widget of a form looks on light and on dark pages. */
export function WidgetPreview({ value }: { readonly value: unknown }) {
  const { colors = {}, texts: written } = (value ?? {}) as WidgetDraft;
  const greeting = written?.en?.greeting ?? texts.widgets.greeting;
  return (
    <section class="widget-preview" aria-label={texts.widgets.preview}>
      <Ground
        accent={colors.light ?? LIGHT}
        ground="#ffffff"
        greeting={greeting}
        name={texts.widgets.onLight}
      />
      <Ground accent={colors.dark ?? DARK} ground="#12181b" greeting={greeting} name={texts.widgets.onDark} />
    </section>
  );
}

/** The accents of the widget itself. */
const LIGHT = '#15616f';
const DARK = '#6cc4d3';

interface GroundProps {
  readonly accent: string;
  readonly ground: string;
  readonly greeting: string;
  readonly name: string;
}

function Ground({ accent, ground, greeting, name }: GroundProps) {
  const shown = /^#[0-9a-f]{6}$/i.test(accent) ? accent : LIGHT;
  return (
    <div style={{ background: ground, color: readableOn(ground) }}>
      <div class="widget-preview-head" style={{ background: shown, color: readableOn(shown) }}>
        {name}
      </div>
      <div class="widget-preview-page">
        <span class="widget-preview-greeting">{greeting}</span>
        <span class="widget-preview-button" style={{ background: shown }} />
      </div>
    </div>
  );
}

/** Returns black or white, whichever is read better on a colour. */
function readableOn(color: string): string {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff';
}
