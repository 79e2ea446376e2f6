/** Functions that xss-watch.ts calls in a page and its frames as `xss`. */

const note = (what) => globalThis.xssRan(`${what} at ${location.href}`);
for (const name of ['alert', 'confirm', 'prompt', 'print']) globalThis[name] = () => note(name);
addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample }) =>
  note(`policy: ${effectiveDirective} ${blockedURI} ${sample}`),
);

/** Elements of no page here, except the script and the style of its head. */
const FOREIGN =
  'iframe, frame, object, embed, applet, portal, base, meta[http-equiv], style, template, marquee, ' +
  'keygen, xml, math, area, map, audio, video, source, form[action], font, foreignObject, animate, ' +
  'animateTransform, set, use, image, svg a, svg script, script:not([src^="/"])';
const FOREIGN_ATTRIBUTE = /^on|^(srcdoc|formaction|action|background|ping|xlink:href|http-equiv)$/i;
const EVENTS = ['mouseover', 'focusin', 'pointerenter', 'animationstart', 'error', 'load'];
const TEXTS = ['title', 'alt', 'aria-label', 'placeholder', 'download', 'value', 'label'];

/** Returns every element, also of shadow trees. */
function all(root) {
  return [...root.querySelectorAll('*')].flatMap((element) => [
    element,
    ...(element.shadowRoot === null ? [] : all(element.shadowRoot)),
  ]);
}

/** Returns whether an element is foreign. The loader's frame and script are the exception. */
function isForeign(element, frame) {
  if (frame !== '' && element.matches('script[src$="/widget.js"]')) return false;
  if (element.matches('link[rel=icon]')) return !/^(data:image|https?:)/.test(element.href);
  if (element.localName === 'link') return new URL(element.href).origin !== location.origin;
  return element.matches(FOREIGN) && !(frame !== '' && element.matches(`iframe[src^="${frame}"]`));
}

function isUnsafe(element, { name, value }) {
  if (FOREIGN_ATTRIBUTE.test(name)) return true;
  if (name === 'style') return /url\(|expression|behavior/i.test(value);
  if (name !== 'href' && name !== 'src') return false;
  if (/^(https?:\/\/|\/|#)/.test(value)) return false;
  if (element.localName === 'link') return false;
  if (element.localName === 'a') {
    return !value.startsWith('mailto:') && !(element.download && value.startsWith('data:application/json,'));
  }
  return !(element.localName === 'img' && /^(blob:|data:image\/)/.test(value));
}

const squeezed = (text) => text.replace(/\s+/g, ' ').trim();

/** Returns everything that can be read, or heard. */
function texts(elements) {
  return squeezed(
    [
      document.title,
      ...[...(document.body?.children ?? [])].map((child) => child.textContent),
      ...elements.flatMap((element) => [
        ...TEXTS.map((name) => element.getAttribute(name) ?? ''),
        ...(typeof element.value === 'string' ? [element.value] : []),
      ]),
    ].join('\n'),
  );
}

globalThis.xss = {
  /** Returns how often each of the texts can be read. */
  seen(wanted) {
    const page = texts(all(document));
    return wanted.map((text) => page.split(squeezed(text)).length - 1);
  },

  /**
   * Sends the events that handlers of hostile texts wait for. Returns what a text could have made.
   */
  made(frame) {
    const elements = all(document);
    for (const element of elements) for (const type of EVENTS) element.dispatchEvent(new Event(type));
    return elements.flatMap((element) => [
      ...(isForeign(element, frame) ? [element.cloneNode(false).outerHTML] : []),
      ...[...element.attributes]
        .filter((attribute) => isUnsafe(element, attribute))
        .map(({ name, value }) => `${element.localName} ${name}=${value}`),
    ]);
  },

  /** Scrolls a box by most of its height, if it is there yet. */
  scroll(selector, by) {
    const box = document.querySelector(selector);
    box?.scrollBy(0, box.clientHeight * 0.8 * by);
  },

  /** Tries to run a text as a script, in each way that markup could. */
  inject() {
    const ways = {
      html: () => {
        const box = document.createElement('div');
        document.body.append(box);
        box.innerHTML = '<img src="/x" onerror="alert(1)"><iframe srcdoc="<script>parent.alert(1)</script>">';
      },
      script: () => {
        const script = document.createElement('script');
        script.append('alert(1)');
        document.body.append(script);
      },
      foreign: () => {
        const script = document.createElement('script');
        script.src = 'https://xss.example/x.js';
        document.body.append(script);
      },
      handler: () => {
        const image = document.createElement('img');
        image.setAttribute('onerror', 'alert(1)');
        image.src = '/x';
        document.body.append(image);
      },
      address: () => {
        const link = document.createElement('a');
        link.href = 'javascript:alert(1)';
        document.body.append(link);
        link.click();
      },
    };
    const answers = Object.entries(ways).map(([name, way]) => {
      try {
        way();
        return [name, 'taken'];
      } catch (error) {
        return [name, error.name];
      }
    });
    return Object.fromEntries(answers);
  },
};
