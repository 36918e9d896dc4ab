# The Python module is a component of its own, since its package depends on Python. Debian's Python
# looks into /usr/lib/python3/dist-packages; below another prefix, PYTHONPATH names the folder, or
# CUSTOMLABELS_PYTHON_DIR chooses one where that prefix's Python looks.
set(CUSTOMLABELS_PYTHON_DIR lib/python3/dist-packages CACHE STRING
  "Where the Python module customlabels is installed, below the prefix")
install(FILES python/customlabels/__init__.py python/customlabels/_follow.py
              python/customlabels/_labels.py python/customlabels/_library.py
        DESTINATION ${CUSTOMLABELS_PYTHON_DIR}/customlabels COMPONENT python3-customlabels)
